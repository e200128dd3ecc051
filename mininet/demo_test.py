"""Tests of what the demo concludes, without a network."""
import collections
import unittest
from unittest import mock

import demo


def batches():
    """Three good batches: b2 is away in the second."""
    full = {"b1": [25, 0], "b2": [25, 0], "b3": [25, 0], "b4": [25, 0]}
    return [(demo.BACKENDS, dict(full)), (demo.others("b2"), dict(full, b2=[0, 0], b1=[50, 0])), (demo.BACKENDS, dict(full))]


def shown(broken=0):
    net = mock.MagicMock()
    done = demo.Demo(net, 50)
    done.batches, done.broken = batches(), broken
    return done


class Judge(unittest.TestCase):
    def test_good(self):
        self.assertEqual(shown().judge(), 300)

    def test_bad(self):
        for what, number, name, value in (
                ("b3 served nothing in batch 1", 0, "b3", [0, 0]),
                ("b2 served 1 connections in batch 2", 1, "b2", [1, 0]),
                ("b2 served nothing in batch 3", 2, "b2", [0, 0]),
                ("requests=301 failed=1 broken=0", 2, "", [0, 1]),
                ("requests=301 failed=1 broken=0", 0, "b4", [25, 1])):
            with self.subTest(what):
                bad = shown()
                bad.batches[number][1][name] = value
                with self.assertRaisesRegex(demo.Failure, what):
                    bad.judge()

    def test_broken(self):
        with self.assertRaisesRegex(demo.Failure, "requests=300 failed=0 broken=2"):
            shown(broken=2).judge()
        both = shown(broken=1)
        both.another("other", "10.0.0.101").broken = 1
        with self.assertRaisesRegex(demo.Failure, "requests=300 failed=0 broken=2"):
            both.judge()


class CheckHeld(unittest.TestCase):
    """What is counted as broken, of 60 connections."""

    def check(self, done, alive, broken):
        broken = collections.defaultdict(collections.Counter, {n: collections.Counter(k) for n, k in broken.items()})
        with mock.patch("connections.reports", return_value=(collections.Counter(alive), broken, [])), mock.patch("demo.say"):
            done.check_held()
        return done.broken

    def test_alive(self):
        self.assertEqual(self.check(shown(), {"b1": 40, "b2": 20}, {}), 0)

    def test_broken(self):
        self.assertEqual(self.check(shown(), {"b1": 39, "b2": 19}, {"b1": {"moved": 1}, "b2": {"ConnectionResetError": 1}}), 2)

    def test_server_lost(self):
        done = shown()
        done.lost = {"b2": 0}
        self.assertEqual(self.check(done, {"b1": 40}, {"b2": {"ConnectionResetError": 20}}), 0)
        self.assertEqual(self.check(done, {"b1": 39}, {"b1": {"moved": 1}, "b2": {"ConnectionResetError": 20}}), 1)

    def test_broken_before_the_server_was_lost(self):
        done = shown()
        done.lost = {"b2": 3}
        self.assertEqual(self.check(done, {"b1": 40}, {"b2": {"ConnectionResetError": 20}}), 3)


class Table(unittest.TestCase):
    def test_text(self):
        done = batches()
        done[2][1][""] = [0, 3]
        self.assertEqual(demo.table(done), "\n".join((
            "backend  batch 1  batch 2  batch 3  connections  share  failures",
            "b1            25       50       25          100  33.3%         0",
            "b2            25        0       25           50  16.7%         0",
            "b3            25       25       25           75  25.0%         0",
            "b4            25       25       25           75  25.0%         0",
            "(none)         0        0        0            0   0.0%         3")))


if __name__ == "__main__":
    unittest.main()
