"""Checks a dispatch record against the contract, from outside: python3 check_record.py RECORD.json"""
import json
import math
import statistics
import sys

with open(sys.argv[1]) as file:
    lines = file.readlines()
record = json.loads("".join(lines))


def check(name, good, why=""):
    print(f"ok {name}" if good else f"not ok {name} {why}")


top = ["schema", "solo", "when", "host", "gpu", "clock_ns", "experiment", "params", "results", "checks"]
check("record has every key", not [k for k in top if k not in record], [k for k in top if k not in record])
gpu = ["impl", "impl_version", "backend", "vendor", "device", "driver", "adapter_type", "features", "limits",
       "memory", "resident_workgroups", "copy_gbps"]
check("record says what the GPU is", all(k in g for g in record["gpus"] for k in gpu))
rows = [line.strip().rstrip(",") for line in lines if line.startswith("  {") and '"samples"' in line]
check("each result stands on one line", [json.loads(row) for row in rows] == record["results"])
check("how busy the machine was is said", sys.platform != "linux" or 0 <= record["host"]["busy"] <= record["host"]["cores"])
check("clock resolution is a positive number", record["clock_ns"] > 0)

results = record["results"]
fields = ["name", "params", "unit", "samples", "n", "min", "p10", "median", "p90", "mean", "sd", "ci95", "dispatches",
          "passes", "submits"]
check("every result has every field", all(k in r for r in results for k in fields))
check("every sample is kept", all(len(r["samples"]) == r["n"] == 4 for r in results))
check("every sample is a number", all(isinstance(s, (int, float)) and math.isfinite(s) for r in results for s in r["samples"]))
check("medians are the samples' medians",
      all(abs(statistics.median(r["samples"]) - r["median"]) <= 1e-6 * (1 + abs(r["median"])) for r in results))
check("rounds are grouped by process", all(r["per_process"] == 2 for r in results) and record["params"]["processes"] == 2)
check("intervals hold the median", all(r["ci95"][0] <= r["median"] <= r["ci95"][1] for r in results))

ladder = {(r["params"]["impl"], r["params"]["submit"], r["params"]["kernel"]) for r in results if r["name"] == "dispatch"}
wanted = {(i, s, k) for i in ("dawn", "wgpu", "vulkan", "stub") for s in ("sync", "each", "pass", "batch", "one")
          for k in ("empty", "add", "rmsnorm", "gemv")}
check("the ladder is complete", ladder == wanted, wanted - ladder)


def slope(points):
    mx, my = statistics.mean(x for x, _ in points), statistics.mean(y for _, y in points)
    return sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x, _ in points)


def slopes_fit(r):
    per_round = len(r["points"]) // r["n"]
    rounds = [r["points"][i * per_round:(i + 1) * per_round] for i in range(r["n"])]
    return all(abs(slope(p) - s) <= 1e-5 * (1 + abs(s)) for p, s in zip(rounds, r["samples"]))


sloped = [r for r in results if "points" in r]
check("costs are slopes of the points kept", len(sloped) > 60 and all(slopes_fit(r) for r in sloped))
calls = {r["params"]["call"] for r in results if r["name"] == "host"}
check("every call is timed", calls == {"encoder", "begin_pass", "set_pipeline", "set_bind_group", "dispatch",
                                       "end_pass", "finish", "submit", "wait"})
check("habits are measured", {r["params"]["habit"] for r in results if r["name"] == "habit"} ==
      {"baseline", "bind_group", "param_write", "indirect", "replay"})
check("safety is measured four ways", len({(r["params"]["validation"], r["params"]["robustness"]) for r in results
                                           if r["name"] == "safety"}) == 4)
check("submits are swept", len({r["params"]["submits"] for r in results if r["name"] == "submits"}) >= 6)
check("barriers are measured", any(r["name"] == "barrier" for r in results))
check("both ways of waiting are measured", {r["params"]["wait"] for r in results if r["name"] == "wait"} ==
      {"polling", "blocking"})
one = [r for r in results if r["name"] == "dispatch" and r["params"]["submit"] == "one"]
check("one dispatch is one dispatch", all(r["dispatches"] == r["passes"] == r["submits"] == 1 for r in one))
check("outputs and waits were checked, and how often is recorded", any("outputs equal" in c["what"] and int(c["detail"].split()[0]) > 500
                                                                   for c in record["checks"]) and
      any("waits ended" in c["what"] for c in record["checks"]))
check("host calls are slopes", all(len(r["samples"]) == 4 for r in results if r["name"] == "host"))
check("checks all passed", record["checks"] and all(c["ok"] for c in record["checks"]))
check("claims have verdicts", all(c["verdict"] in ("confirmed", "partly", "contradicted", "cannot tell") and c["here"]
                                  for c in record["claims"]))
