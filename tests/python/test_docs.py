"""docs/python.md: its code runs."""
import contextlib
import io
import re
import unittest


class Page(unittest.TestCase):
    def test_its_code_runs(self):
        with open("docs/python.md", encoding="utf-8") as page:
            code = re.findall(r"^```python\n(.*?)^```", page.read(), re.M | re.S)
        self.assertGreater(len(code), 4)
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec("\n".join(code), {})
        self.assertIn("there lived", out.getvalue())
