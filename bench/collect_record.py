"""bench/collect_record.py ENGINE CLIENTS RUNS [OUT.json]: what bench/collect.sh measured, as lines and as a record."""
import json
import os
import sys

from record import check, record, result, write

engine, clients, runs, out = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else ""
TICKS = os.sysconf("SC_CLK_TCK")
results, checks = [], []
with open(runs) as lines:
    for run in map(json.loads, lines):
        load, name = run["run"], run["record"]
        each_ms = 1000 * run["ticks"] / TICKS / max(load["acknowledged"], 1)
        params = {"impl": engine, "clients": clients, "record": name, "record_bytes": os.path.getsize(name), "load_average": run["load"]}
        results.append(result("records", params, "records/s", load["each_second"]))
        results.append(result("processor", params, "ms/record", [each_ms]))
        checks.append(check(f"{name}: every acknowledged record is there", run["missing"] == 0, f"{load['acknowledged']} records"))
        checks.append(check(f"{name}: none was refused", load["refused"] == 0))
        print(f"{engine}, {clients} clients, {name}: {results[-2]['median']:.0f} records a second (median of {len(load['each_second'])} seconds), "
              f"{each_ms:.2f} ms of processor time each, {load['refused']} refused, {run['missing']} missing; "
              f"{os.cpu_count()} cores, load average {run['load']}")
if out:
    gpu = {"impl": engine, "backend": "none", "device": "none", "adapter_type": "none"}
    write(out, record("collect", gpu, {"clients": clients}, results, checks))
