"""Writes the seeds of fuzz_jinja: the small templates of tests/data/jinja.json, a few in each file.

    python3 tests/fuzz/make_jinja_seeds.py
"""
import json
import os

FOLDER, EACH = "tests/fuzz/corpus/jinja", 6
cases = [case["template"] for case in json.load(open("tests/data/jinja.json", encoding="utf-8"))["cases"]]
os.makedirs(FOLDER, exist_ok=True)
rendered = [text for text in cases if not any(c >= "\u0400" and c < "\u0500" for c in text)]
for i in range(0, len(rendered), EACH):
    with open(f"{FOLDER}/{i // EACH:02}.jinja", "w", encoding="utf-8") as f:
        f.write("\n".join(rendered[i : i + EACH]))
