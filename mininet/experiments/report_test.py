"""Tests of what experiments write."""
import os
import tempfile
import unittest

import report


class Section(unittest.TestCase):
    def written(self, before, name):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "document.md")
            with open(path, "w", encoding="utf-8") as document:
                document.write(before)
            report.write_section(name, "new\n", path)
            with open(path, encoding="utf-8") as document:
                return document.read()

    def test_between_its_markers_alone(self):
        self.assertEqual(self.written("a\n<!-- x -->\nold\n<!-- end -->\nb\n<!-- y -->\nkept\n<!-- end -->\n", "x"),
                         "a\n<!-- x -->\nnew\n<!-- end -->\nb\n<!-- y -->\nkept\n<!-- end -->\n")

    def test_no_markers(self):
        with self.assertRaisesRegex(ValueError, "no section z"):
            self.written("a\n<!-- x -->\nold\n<!-- end -->\n", "z")


class Table(unittest.TestCase):
    def test_text(self):
        self.assertEqual(report.table(["a", "b"], [[1, "2 %"]]), "| a | b |\n| --- | --- |\n| 1 | 2 % |\n")


if __name__ == "__main__":
    unittest.main()
