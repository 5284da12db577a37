"""docs/python.md and docs/python-tutorial.md: their code runs."""
import contextlib
import io
import os
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree


def code_of(path):
    with open(path, encoding="utf-8") as page:
        return re.findall(r"^```python\n(.*?)^```", page.read(), re.M | re.S)


class Page(unittest.TestCase):
    def test_its_code_runs(self):
        code = code_of("docs/python.md")
        self.assertGreater(len(code), 4)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec("\n".join(code), {})
        self.assertIn("there lived", out.getvalue())

    def test_the_tutorial_and_its_plots(self):
        code, here = code_of("docs/python-tutorial.md"), os.getcwd()
        self.assertEqual(len(code), 4)
        sys.path.insert(0, os.path.abspath("examples"))
        self.addCleanup(sys.path.remove, os.path.abspath("examples"))
        self.addCleanup(os.chdir, here)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            exec("\n".join(code), {})
            os.chdir(here)
            lines = {}
            for name in sorted(os.listdir(folder)):
                root = xml.etree.ElementTree.parse(os.path.join(folder, name)).getroot()
                lines[name] = [len(line.get("points").split()) for line in root.iter("{http://www.w3.org/2000/svg}polyline")]
        self.assertEqual({name: lines[name] for name in ("falling.svg", "upright.svg", "evolution.svg")},
                         {"falling.svg": [201] * 4, "upright.svg": [201] * 4, "evolution.svg": [21]})
        self.assertEqual(len(lines["likely.svg"]), 1)
