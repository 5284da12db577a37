#!/usr/bin/env python3
"""What bench/presets.sh does with records: one that has a reason instead of figures, a reason added to one, a line about a model.

    presets_record.py failed FILE EXPERIMENT MODEL WHY
    presets_record.py add FILE WHAT WHY
    presets_record.py compiled FILE SECONDS
    presets_record.py line MODEL.solo.json MODEL.startup.json
"""
import json
import os
import sys

import record


def read(path):
    if not os.path.exists(path):
        return {"results": [], "skipped": [], "params": {}}
    with open(path) as f:
        return json.load(f)


def failed(path, experiment, model, why):
    what = {"solo": "llm"}.get(experiment, experiment)
    record.write(path, record.record(what, {}, {"model": model}, [], [record.check("it was measured", False, why)],
                                     skipped=[{"what": "all of it", "why": why}]))


def add(path, what, why):
    made = read(path)
    made["skipped"] = made.get("skipped", []) + [{"what": what, "why": why}]
    record.write(path, made)


def compiled(path, seconds):
    made = read(path)
    made["params"]["compile_s"] = round(float(seconds), 2)
    record.write(path, made)


def line(solo_path, startup_path):
    solo, startup = read(solo_path), read(startup_path)

    def rate(prefix, level):
        return next((r for r in solo["results"] if r["name"].startswith(prefix) and r["params"]["fuse"] == level), None)

    def text(run):
        found = next((r for r in startup["results"] if r["name"] == "first text" and r["params"]["run"] == run), None)
        return f"{found['median']:.2f}" if found else "-"
    ops, loop, prompt = rate("tg", "ops"), rate("tg", "loop"), rate("pp", "ops")
    best, memory = loop or ops, solo["params"].get("gpu_bytes")
    share = (best or {}).get("share_of_copy_bandwidth") or 0
    print(f"{os.path.basename(solo_path).removesuffix('.solo.json'):22}"
          f" ops {ops['median'] if ops else 0:7.1f}  loop {loop['median'] if loop else 0:7.1f} tok/s {100 * share:3.0f}%"
          f"  prompt {prompt['median'] if prompt else 0:8.0f} tok/s, {prompt['first_token_ms'] if prompt else 0:6.1f} ms"
          f"  start-up {text('first')} / {text('second')} s, compiled in {solo['params'].get('compile_s', 0):4.1f} s"
          f"  {(memory or 0) / 1e9:5.2f} GB", end="")


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in ("failed", "add", "compiled", "line"):
        raise SystemExit(__doc__)
    globals()[sys.argv[1]](*sys.argv[2:])
