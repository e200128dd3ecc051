"""Tests of what the demo concludes, without a network."""
import unittest

import demo


def batches():
    """Three good batches: b2 is away in the second."""
    full = {"b1": [25, 0], "b2": [25, 0], "b3": [25, 0], "b4": [25, 0], "": [0, 0]}
    return [dict(full), dict(full, b2=[0, 0], b1=[50, 0]), dict(full)]


class Judge(unittest.TestCase):
    def test_good(self):
        demo.judge(batches())

    def test_bad(self):
        for what, number, name, value in (
                ("b3 served nothing in the first batch", 0, "b3", [0, 0]),
                ("b2 served 1 connections while", 1, "b2", [1, 0]),
                ("b2 served nothing after", 2, "b2", [0, 0]),
                ("requests=301 failed=1", 2, "", [0, 1]),
                ("requests=301 failed=1", 0, "b4", [25, 1])):
            with self.subTest(what):
                bad = batches()
                bad[number][name] = value
                with self.assertRaisesRegex(demo.Failure, what):
                    demo.judge(bad)


class Table(unittest.TestCase):
    def test_text(self):
        done = batches()
        done[2][""] = [0, 3]
        self.assertEqual(demo.table(done), "\n".join((
            "backend  batch 1  batch 2  batch 3  connections  share  failures",
            "b1            25       50       25          100  33.3%         0",
            "b2            25        0       25           50  16.7%         0",
            "b3            25       25       25           75  25.0%         0",
            "b4            25       25       25           75  25.0%         0",
            "(none)         0        0        0            0   0.0%         3")))


if __name__ == "__main__":
    unittest.main()
