#!/usr/bin/env python3
"""How far two files of logits are apart, as a share of how far the logits of a position spread.

    tests/oracle/compare_logits.py A.json B.json [LIMIT [POSITIONS]]

Prints the largest share over the (first POSITIONS) positions; fails if it is over LIMIT."""
import json
import math
import sys


def rows(path):
    with open(path) as f:
        return json.load(f)["logits"]


a, b = rows(sys.argv[1]), rows(sys.argv[2])
limit = float(sys.argv[3]) if len(sys.argv) > 3 else math.inf
count = int(sys.argv[4]) if len(sys.argv) > 4 else len(a)
if not a or len(a) != len(b) or any(len(x) != len(y) for x, y in zip(a, b)):
    sys.exit("not the same positions and tokens")
worst = 0
for x, y in list(zip(a, b))[:count]:
    if None in x or None in y:
        sys.exit("logits that are no numbers")
    worst = max(worst, max(abs(p - q) for p, q in zip(x, y)) / (max(x) - min(x)))
print(f"{worst:.2g}")
sys.exit(worst > limit)
