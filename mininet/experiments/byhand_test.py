"""Tests of the rules that are made by hand, without a network."""
import unittest

from byhand import ByHand, Choice, buckets


class Buckets(unittest.TestCase):
    """Of b1 to b4, of which b2 leaves."""

    before, after = {1: 1, 2: 1, 3: 1, 4: 1}, {1: 1, 3: 1, 4: 1}

    def ids(self, weights, **choice):
        return {backend: number for number, _, backend in buckets(weights, Choice("hash", **choice))}

    def test_stable(self):
        before = self.ids(self.before)
        del before[2]
        self.assertEqual(before, self.ids(self.after))

    def test_by_place(self):
        self.assertEqual({1: 0, 2: 1, 3: 2, 4: 3}, self.ids(self.before, by_place=True))
        self.assertEqual({1: 0, 3: 1, 4: 2}, self.ids(self.after, by_place=True))
        self.assertEqual({1: 0, 5: 1, 3: 2}, self.ids({1: 1, 5: 1, 3: 1}, by_place=True))

    def test_order_of_stable_ids(self):
        """The order of the list decides nothing: Open vSwitch breaks ties by it."""
        self.assertEqual(buckets({1: 1, 2: 2}, Choice("hash")), buckets({2: 2, 1: 1}, Choice("hash")))

    def test_weights(self):
        several = buckets({1: 1, 2: 3}, Choice("hash"))
        self.assertEqual([1, 2, 2, 2], [backend for _, _, backend in several])
        self.assertEqual({1}, {weight for _, weight, _ in several})
        self.assertEqual(4, len({number for number, _, _ in several}))
        self.assertIn(buckets({2: 1}, Choice("hash"))[0], several)  # a weight adds to what is there
        self.assertEqual([1, 3], [weight for _, weight, _ in buckets({1: 1, 2: 3}, Choice("dp_hash", weighted=True))])


class Spread(unittest.TestCase):
    def rules(self, *used):
        balancer = ByHand.__new__(ByHand)
        balancer.used = list(used)
        return balancer.spread("in_port=1,tcp", "tcp_src")

    def test_one(self):
        self.assertEqual(["in_port=1,tcp,actions=output:201"], self.rules(1))

    def test_two(self):
        self.assertEqual(["in_port=1,tcp,tcp_src=0/1,actions=output:200", "in_port=1,tcp,tcp_src=1/1,actions=output:201"], self.rules(0, 1))


if __name__ == "__main__":
    unittest.main()
