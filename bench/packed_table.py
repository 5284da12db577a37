#!/usr/bin/env python3
"""packed_table.py FOLDER: a short table of the records that bench/packed.sh left there."""
import json
import os
import sys


def records(folder):
    for place, _, files in sorted(os.walk(folder)):
        for name in sorted(files):
            if name.endswith(".json"):
                try:
                    with open(os.path.join(place, name)) as f:
                        made = json.load(f)
                except ValueError:
                    continue
                if isinstance(made, dict) and "results" in made:
                    yield os.path.relpath(os.path.join(place, name), folder)[:-len(".json")], made


def label(result):
    words = [result["params"].get(key) for key in ("impl", "backend", "variant", "flash", "run", "fuse", "submit", "depth", "kernel")]
    return " ".join(str(word) for word in [result["name"], *words] if word not in (None, ""))


def lines_of(made):
    for result in made["results"]:
        if made.get("experiment") == "dispatch" and (result["name"] != "dispatch" or result["params"].get("kernel") != "empty"):
            continue
        more = "".join(f", {name} {result[key] * factor:.4g}{unit}" for key, name, factor, unit in (
            ("first_token_ms", "first token", 1, " ms"), ("share_of_copy_bandwidth", "of the limit", 100, "%")) if result.get(key))
        yield f"{label(result):48} {result['median']:12.5g} {result['unit']}{more}"
    if made.get("params", {}).get("gpu_bytes"):
        yield f"GPU memory {made['params']['gpu_bytes'] / 1e9:.2f} GB"
    for check in made.get("checks", []):
        if not check["ok"]:
            yield f"NOT SO: {check['what']}: {check['detail']}"
    for left_out in made.get("skipped", []):
        yield f"left out: {left_out['what']}: {left_out['why']}"


def main():
    for name, made in records(sys.argv[1]):
        print(name)
        for line in lines_of(made):
            print("    " + line[:200])
    tests = os.path.join(sys.argv[1], "tests.txt")
    if os.path.exists(tests):
        with open(tests) as text:
            print("tests: " + (text.read().strip().splitlines() or ["nothing"])[-1])


if __name__ == "__main__":
    main()
