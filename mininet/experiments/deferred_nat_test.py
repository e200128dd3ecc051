"""Tests of what experiments deferred_nat and scale_out compute, without a network."""
import unittest

import deferred_nat
import scale_out
from gateways import Gateways


class Deferred(unittest.TestCase):
    def test_table(self):
        """Seeds are added up; what has not been measured is a dash."""
        results = [deferred_nat.Result(1, "stable", 3, "added", 100, 20, 0), deferred_nat.Result(2, "stable", 3, "added", 100, 31, 1),
                   deferred_nat.Result(1, "stable", 50, "added", 100, 2, 0)]
        line = deferred_nat.table(results).splitlines()[-1]
        self.assertEqual("| by hand: stable bucket ids | 26, 2 | –, – | –, – | –, – | –, – |", line)

    def test_ports_do_not_meet(self):
        """Not of two methods, if all connections break each time; and none is one of the kernel's."""
        for seed in range(100):
            first = [deferred_nat.first_port(seed, method, 300) for method in deferred_nat.NAMES]
            every = [port for begin in first for port in range(begin, begin + 300 * len(deferred_nat.EVENTS))]
            self.assertEqual(len(every), len(set(every)))
            self.assertLess(max(every), 32768)


def run(turn, method, gateways, cpu, seconds=10):
    topo = Gateways(backends=4, clients=4, gateways=4, edges=2, direct=True)
    roles = [(switch, scale_out.role(topo, switch, gateways)) for switch in topo.switches()]
    return [scale_out.Result(turn, method, gateways, switch, role, 2000, 0, seconds, cpu if role == "gateway" else 0.5,
                             5000, 6000, 2000 // gateways, 7) for switch, role in roles]


class ScaleOut(unittest.TestCase):
    def test_roles(self):
        roles = [r.role for r in run(1, "deferred", 2, 1)]
        self.assertEqual(["client", "gateway", "gateway", "unused", "unused", "backend", "backend"], roles)

    def test_figures(self):
        """The median of rounds, per 1,000 of 2,000 connections."""
        results = run(1, "deferred", 2, 1, 10) + run(2, "deferred", 2, 3, 20) + run(3, "deferred", 2, 2, 5) + run(1, "deferred", 4, 9, 1)
        for wanted, column in zip((200, 1, 7, 1000, 6000 / 1024, 500, 3.25), scale_out.COLUMNS, strict=True):
            self.assertAlmostEqual(wanted, scale_out.figure(results, "deferred", 2, column))

    def test_table(self):
        text = scale_out.table([r for m in scale_out.NAMES for n in scale_out.NUMBERS for r in run(1, m, n, 1)])
        self.assertIn("Of 2000 connections", text)
        self.assertIn("A gateway not in use took 0.25 s", text)
        self.assertEqual(2 * 3, text.count("\n| mode") + text.count("\n| by hand"))


if __name__ == "__main__":
    unittest.main()
