"""Records as `solo bench` writes them ("solo-record-1"), for what is measured beside it."""
import datetime
import json
import math
import os
import platform
import re
import random
import statistics
import subprocess
import time


def summary(samples):
    """The figures of a result; the interval of the median by bootstrap."""
    ordered, n = sorted(samples), len(samples)

    def quantile(q):
        at = q * (n - 1)
        low = math.floor(at)
        return ordered[low] + (ordered[min(low + 1, n - 1)] - ordered[low]) * (at - low)

    draw = random.Random(1)
    medians = sorted(statistics.median(draw.choices(samples, k=n)) for _ in range(2000))
    return {"samples": list(samples), "n": n, "min": ordered[0], "p10": quantile(0.1), "median": statistics.median(samples),
            "p90": quantile(0.9), "mean": statistics.fmean(samples), "sd": statistics.stdev(samples) if n > 1 else 0.0,
            "ci95": [medians[50], medians[1949]]}


def result(name, params, unit, samples, **more):
    return {"name": name, "params": params, "unit": unit, **summary(samples), **more}


def check(what, ok, detail=""):
    return {"what": what, "ok": bool(ok), "detail": detail}


def _processor():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _commit():
    """Of the program that was run, if there is one; else of these files."""
    here = os.path.dirname(os.path.abspath(__file__))
    try:
        said = subprocess.run([os.environ.get("SOLO", os.path.join(here, "..", "build", "solo")), "--version"], text=True,
                              capture_output=True, check=True).stdout
        return re.search(r"\((.+)\)", said).group(1)
    except (OSError, subprocess.CalledProcessError, AttributeError):
        pass
    try:
        return subprocess.run(["git", "describe", "--always", "--dirty", "--exclude", "*"], cwd=here, text=True,
                              capture_output=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def _clock_step_ns():
    steps = []
    for _ in range(1000):
        a = b = time.perf_counter_ns()
        while b == a:
            b = time.perf_counter_ns()
        steps.append(b - a)
    return min(steps)


def record(experiment, gpu, params, results, checks, **more):
    return {
        "schema": "solo-record-1",
        "solo": {"version": "", "commit": _commit()},
        "when": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "host": {"os": f"{platform.system()} {platform.release()} {platform.machine()}", "cpu": _processor(),
                 "cores": os.cpu_count()},
        "gpu": gpu,
        "clock_ns": _clock_step_ns(),
        "experiment": experiment,
        "params": params,
        "results": results,
        "checks": checks,
        **more,
    }


def _members(value):
    """What a container holds, as (key text, value); nothing for anything else."""
    if isinstance(value, dict):
        return [(json.dumps(key) + ": ", item) for key, item in value.items()]
    return [("", item) for item in value] if isinstance(value, (list, tuple)) else []


def _rows(value, depth):
    """The container with each item on a line of its own, and the containers among them too, one level down."""
    members, margin = _members(value), "\n" + " " * depth
    in_rows = members and depth < 2 and (depth == 0 or any(isinstance(item, (dict, list, tuple)) for _, item in members))
    if not in_rows:
        return json.dumps(value)
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + ",".join(margin + " " + key + _rows(item, depth + 1) for key, item in members) + margin + last


def text(contents):
    """As `solo bench` lays a record out: each result on one line (tools/record_layout.mjs)."""
    return _rows(contents, 0) + "\n"


def write(path, contents):
    """To standard output if the path is -."""
    if path == "-":
        print(text(contents), end="")
        return
    with open(path + ".new", "w") as out:
        out.write(text(contents))
    os.replace(path + ".new", path)
