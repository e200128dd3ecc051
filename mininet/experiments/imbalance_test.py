"""Tests of what experiment imbalance computes, without a network."""
import os
import random
import statistics
import tempfile
import unittest

import flows
import imbalance
import imbalance_plots


class Sizes(unittest.TestCase):
    def test_mean(self):
        generator = random.Random(1)
        sizes = [flows.size(generator) for _ in range(50000)]
        self.assertGreaterEqual(min(sizes), flows.SMALLEST)
        self.assertLessEqual(max(sizes), flows.LARGEST)
        self.assertAlmostEqual(statistics.fmean(sizes) / flows.mean_size(), 1, delta=0.05)
        self.assertAlmostEqual(flows.mean_size(), 56000, delta=1000)

    def test_same_seed(self):
        self.assertEqual([flows.size(random.Random(7)) for _ in range(3)], [flows.size(random.Random(7))] * 3)


def done(scheduler="roulette", case="equal", rates=(1, 3, 1, 3), seed=1):
    run = imbalance.Run.__new__(imbalance.Run)
    run.case, run.scheduler, run.seed = case, scheduler, seed
    run.rates = {n: [float(r) for r in rates] for n in imbalance.SERVERS}
    run.f = [("t", 2.0), ("t", None), ("t", 4.0)]
    run.flows = [[0, 0.1 * i, 1000, imbalance.SERVERS[i % 4]] for i in range(100)]
    run.failed, run.messages_sent = [], {"packet_ins": 110, "flow_mods": 200}
    return run


class Results(unittest.TestCase):
    def test_variation(self):
        cv, step = done().variation()
        self.assertAlmostEqual(cv, 0.5)
        self.assertAlmostEqual(step, 1)
        self.assertEqual(done(rates=(2, 2, 2)).variation(), (0, 0))

    def test_row(self):
        row = done().row()
        self.assertEqual((row["f_median"], row["messages_per_flow"], row["share_b1"], row["p50"], row["p99"]), (3.0, 4.2, 0.25, 5.0, 9.9))

    def test_capacities(self):
        self.assertEqual([imbalance.capacity(c, "b4", known) for c in imbalance.CASES for known in (True, False)], [8, 8, 4, 4, 8, 4])
        self.assertEqual(imbalance.capacity("slow known", "b1", True), 8)

    def test_tables(self):
        with tempfile.TemporaryDirectory() as folder:
            imbalance.write([done("greedy", rates=(1, 5, 1, 5)), done("round-robin", rates=(2, 3, 2, 3)), done()], folder)
            self.assertEqual(sorted(os.listdir(folder)), ["f.csv", "imbalance.csv", "rates.csv"])
            text = imbalance_plots.tables([folder])
        self.assertIn("| `roulette` | 0.50 | 1.00 | 3.0 | 5.00 s | 9.90 s | 4.20 | 25 / 25 / 25 / 25 |", text)
        self.assertIn("| equal, roulette against greedy | −18.2 % | -25.0 % | -25.0 % |", text)
        self.assertIn("| equal, roulette against round-robin | −34.4 % | +150.0 % | +150.0 % |", text)


if __name__ == "__main__":
    unittest.main()
