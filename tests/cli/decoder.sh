#!/bin/sh
# solo bench decoder: the table, the record, and what others make of it.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
: "${SOLO:=build/solo}"

said() { # NAME STATUS: ok if the status is 0
    if [ "$2" -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}

"$SOLO" bench decoder -r 2 --adapter software --json "$work/decoder.json" >"$work/table" 2>&1
said "1,024 dispatches and one compute what the CPU does" $?
grep -q '^batch *1024 *1 ' "$work/table" && grep -q '^sync *1024 *1024 ' "$work/table" && grep -q '^one *1 *1 ' "$work/table"
said "as many dispatches as it says" $?

python3 - "$work/decoder.json" <<'END'
import json, sys
record = json.load(open(sys.argv[1]))
results = {r["params"]["submit"]: r for r in record["results"]}
assert record["experiment"] == "decoder" and record["checks"] and all(c["ok"] for c in record["checks"])
assert results["batch"]["dispatches"] == 1024 and results["one"]["dispatches"] == 1, results
assert all(r["unit"] == "us" and len(r["samples"]) == 2 and r["params"]["steps"] == 1024 for r in results.values())
END
said "the record has every strategy" $?

"$SOLO" report "$work/decoder.json" -o "$work/report.html" >/dev/null && grep -q decoder "$work/report.html"
said "a report of it" $?
"$SOLO" compare "$work/decoder.json" "$work/decoder.json" >"$work/compared" && grep -q decoder "$work/compared"
said "the same compared with itself" $?
"$SOLO" collect import --db "$work/all.sqlite" "$work/decoder.json" >"$work/imported" 2>&1
said "a leaderboard takes it" $?
"$SOLO" bench decoder -r 2 --impl stub --json - >"$work/stub.json" && ! grep -q "CPU's" "$work/stub.json"
said "nothing is said to be checked of a device that computes nothing" $?
! "$SOLO" bench decoder --impl cuda -r 2 >/dev/null 2>"$work/error" && [ "$(wc -l <"$work/error")" -le 2 ]
said "what has no kernel for it is refused" $?
