"""Tests of Maglev hashing."""
import collections
import unittest

import maglev


class Table(unittest.TestCase):
    def test_even(self):
        """The paper's bound: no share differs by more than a few per cent at a hundred slots for each backend."""
        names = ["b%d" % i for i in range(10)]
        for slots in (1009, maglev.SLOTS):
            shares = collections.Counter(maglev.table(dict.fromkeys(names, 1), slots))
            self.assertLessEqual(max(shares.values()) - min(shares.values()), 1)

    def test_weights(self):
        shares = collections.Counter(maglev.table({"a": 1, "b": 2, "c": 1}, 1009))
        self.assertAlmostEqual(shares["b"] / 1009, 0.5, delta=0.01)

    def test_removal_moves_little_else(self):
        names = {"b%d" % i: 1 for i in range(10)}
        before = maglev.table(names)
        del names["b4"]
        moved = sum(a != b != "b4" for a, b in zip(maglev.table(names), before))
        self.assertLess(moved / maglev.SLOTS, 0.02)
        self.assertGreater(moved, 0)


if __name__ == "__main__":
    unittest.main()
