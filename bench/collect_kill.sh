#!/bin/sh
# bench/collect_kill.sh [TIMES] [sqlite|postgresql] [OUT.json]: kills a collector under load with SIGKILL, TIMES times (100), and looks
# whether every record that it acknowledged is there when it is started again. With postgresql the database server is killed
# with it. Prints a line for each kill, and how many acknowledged records were lost in all; exit status 1 if any was.
# OUT.json gets it as a record.
set -u
cd "$(dirname "$0")/.." || exit 1
times=${1:-100} engine=${2:-sqlite} out=${3:-}
SOLO=${SOLO:-build/solo}
work=$(mktemp -d) || exit 1
collector='' postgres=''
# shellcheck source=tests/cli/collect_servers.inc
. tests/cli/collect_servers.inc
trap 'kill -9 $collector 2>/dev/null; [ -z "$postgres" ] || kill_postgres; rm -rf "$work"' EXIT

db=$work/db.sqlite
if [ "$engine" = postgresql ]; then
    why=$(postgres_missing)
    [ -z "$why" ] || { echo "skip: $why"; exit 0; }
    make_postgres || { tail -n 3 "$work/initdb.log" >&2; exit 1; }
    db=$postgres_url
fi

lost=0 acknowledged=0 round=0
while [ "$round" -lt "$times" ]; do
    round=$((round + 1))
    if [ "$engine" = postgresql ]; then
        start_postgres || { tail -n 3 "$work/postgres.log" >&2; exit 1; }
    fi
    start_collector "$db" --rate 0 || { cat "$work/err" >&2; exit 1; }
    : >"$work/acknowledged"
    node tests/cli/collect_client.mjs load "$url" results/h200/sim/builtin-pi.json 8 20 "$work/acknowledged" >"$work/load" &
    load=$!
    # not before there is something to lose, and then at any moment
    while [ ! -s "$work/acknowledged" ] && kill -0 "$load" 2>/dev/null; do sleep 0.02; done
    sleep "0.$((round * 37 % 90 + 10))"
    kill -9 "$collector"
    [ "$engine" != postgresql ] || kill_postgres
    wait "$collector" 2>/dev/null
    wait "$load"
    if [ "$engine" = postgresql ]; then
        start_postgres || { tail -n 3 "$work/postgres.log" >&2; exit 1; }
    fi
    start_collector "$db" --rate 0 || { cat "$work/err" >&2; exit 1; }
    count=$(wc -l <"$work/acknowledged")
    missing=$(node tests/cli/collect_client.mjs missing "$url" "$work/acknowledged")
    echo "kill $round: $count acknowledged, ${missing:-all} lost" | tee -a "$work/kills"
    lost=$((lost + ${missing:-$count})) acknowledged=$((acknowledged + count))
    kill "$collector"
    wait "$collector"
    [ "$engine" != postgresql ] || kill_postgres
    postgres=
done
[ -z "$out" ] || python3 bench/collect_kill_record.py "$engine" "$work/kills" "$out" || exit 1
echo "$engine: $times kills, $acknowledged records acknowledged, $lost lost"
[ "$lost" -eq 0 ]
