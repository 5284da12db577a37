"""bench/collect_kill_record.py ENGINE LINES OUT.json: what bench/collect_kill.sh printed, as a record."""
import re
import sys

from record import check, record, result, write

engine, lines, out = sys.argv[1:]
with open(lines) as said:
    kills = re.findall(r"^kill \d+: (\d+) acknowledged, (\d+|all) lost$", said.read(), re.M)
acknowledged = [int(count) for count, _ in kills]
lost = sum(int(count) if lost == "all" else int(lost) for count, lost in kills)
params = {"impl": engine, "kills": len(kills)}
gpu = {"impl": engine, "backend": "none", "device": "none", "adapter_type": "none"}
write(out, record("collect-kill", gpu, params, [result("acknowledged", params, "records", acknowledged)],
                  [check("every acknowledged record is there after the kill", kills and lost == 0,
                         f"{len(kills)} kills, {sum(acknowledged)} records acknowledged, {lost} lost")]))
