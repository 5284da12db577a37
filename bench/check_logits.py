#!/usr/bin/env python3
"""Holds `solo logits` against what transformers computes in float32 from the same weights.

    python3 bench/check_logits.py FOLDER [--solo build/solo] [--impl I] [--fuse LEVEL] [--json FILE]

FOLDER: as bench/make_model.py --golden writes it. The record has, for each position, the largest difference as a part of
how far that position's logits spread, and how many positions have the same best token. Exit status 1 if a difference is
above --tolerance.
"""
import argparse
import json
import os
import subprocess
import sys

import numpy as np

import record


def golden_logits(folder):
    with open(os.path.join(folder, "golden.json")) as file:
        golden = json.load(file)
    if "logits_file" in golden:
        rows = np.load(os.path.join(folder, golden["logits_file"]))
    else:
        rows = np.array(golden["logits"], dtype=np.float32)
    return golden["prompt"], golden.get("positions", list(range(len(rows)))), rows


def solo_logits(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stderr.strip() or f"{command[0]} failed", file=sys.stderr)
        sys.exit(done.returncode)
    return np.array(json.loads(done.stdout)["logits"], dtype=np.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--solo", default="build/solo")
    parser.add_argument("--impl")
    parser.add_argument("--fuse", default="none")
    parser.add_argument("--tolerance", type=float, default=2e-3)
    parser.add_argument("--json", default="-", metavar="FILE")
    o = parser.parse_args()
    prompt, positions, right = golden_logits(o.folder)
    command = [o.solo, "logits", o.folder, "--tokens", ",".join(map(str, prompt)), "--fuse", o.fuse]
    got = solo_logits(command + (["--impl", o.impl] if o.impl else []))[positions]
    if got.shape != right.shape:
        print(f"{o.folder}: logits are {got.shape}, transformers' {right.shape}", file=sys.stderr)
        sys.exit(1)
    spread = right.max(axis=1) - right.min(axis=1)
    off = np.abs(got - right).max(axis=1) / spread
    off[~np.isfinite(got).all(axis=1)] = 1e9
    same = int((got.argmax(axis=1) == right.argmax(axis=1)).sum())
    params = {"impl": o.impl or "default", "fuse": o.fuse, "model": os.path.basename(os.path.normpath(o.folder))}
    worst = float(off.max())
    record.write(o.json, record.record(
        "logits", {"impl": params["impl"]}, params,
        [record.result("logits_off", params, "of their spread", [float(v) for v in off])],
        [record.check(f"logits within {o.tolerance:g} of their spread of transformers' float32", worst <= o.tolerance,
                      f"at most {worst:.2g}"),
         record.check("the best token is the same", same == len(off), f"{same} of {len(off)} positions")]))
    sys.exit(0 if worst <= o.tolerance else 1)


if __name__ == "__main__":
    main()
