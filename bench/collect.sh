#!/bin/sh
# bench/collect.sh [SECONDS] [CLIENTS] [sqlite|postgresql] [OUT.json]: how many records a second a collector takes, each of them on the
# disk before it is acknowledged, and how much processor time the collector needs for one. The clients are on the same
# machine. Prints a line for a record of a simulation and one for a record of the dispatch experiment, which is larger;
# OUT.json gets both as a record.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-20} clients=${2:-32} engine=${3:-sqlite} out=${4:-}
SOLO=${SOLO:-build/solo}
work=$(mktemp -d) || exit 1
collector='' postgres=''
# shellcheck source=tests/cli/collect_servers.inc
. tests/cli/collect_servers.inc
trap 'kill $collector 2>/dev/null; [ -z "$postgres" ] || kill_postgres; rm -rf "$work"' EXIT

db=$work/db.sqlite
if [ "$engine" = postgresql ]; then
    why=$(postgres_missing)
    [ -z "$why" ] || { echo "skip: $why"; exit 0; }
    if ! make_postgres || ! start_postgres; then
        tail -n 3 "$work"/*.log >&2
        exit 1
    fi
    db=$postgres_url
fi
# of the collector, in clock ticks, which are hundredths of a second
ticks() { awk '{ print $14 + $15 }' "/proc/$collector/stat"; }

start_collector "$db" --rate 0 || { cat "$work/err" >&2; exit 1; }
for record in results/h200/sim/builtin-pi.json results/h200/web/tab.dispatch.json; do
    : >"$work/acknowledged"
    before=$(ticks)
    result=$(node tests/cli/collect_client.mjs load "$url" "$record" "$clients" "$seconds" "$work/acknowledged")
    used=$(($(ticks) - before))
    missing=$(node tests/cli/collect_client.mjs missing "$url" "$work/acknowledged")
    echo "{\"record\": \"$record\", \"missing\": $missing, \"ticks\": $used, \"load\": $(cut -d ' ' -f 1 /proc/loadavg), \"run\": $result}" >>"$work/runs"
done
python3 bench/collect_record.py "$engine" "$clients" "$work/runs" "$out"
