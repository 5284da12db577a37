#!/bin/sh
# tests/run.sh: what is marked so runs by itself, after all others; and every program is counted once.
# Prints a line per test: `ok NAME`, `not ok NAME why`.
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# program NAME SECONDS [MARK]: writes down when it begins and ends
program() {
    printf '#!/bin/sh\n# Sleeps.\n%s\necho "+%s" >>%s/log\nsleep %s\necho "-%s" >>%s/log\necho ok\n' \
        "${3:+# $3}" "$1" "$work" "$2" "$1" "$work" >"$work/$1.sh"
}
program first 0.2 "runs alone: it is a test of this"
program second 0 "runs alone: it is a test of this"
program third 0.4
program fourth 0.1 "nothing that runs alone"
TEST_JOBS=2 sh tests/run.sh "$work/first.sh" "$work/third.sh" "$work/second.sh" "$work/fourth.sh" >"$work/out"
status=$?
order=$(tr '\n' ' ' <"$work/log")
if [ $status -eq 0 ] && [ "$(tail -n 1 "$work/out")" = "4 passed, 0 failed" ]; then
    echo "ok each program runs once"
else
    echo "not ok each program runs once ($(cat "$work/out"))"
fi
case $order in
    *"+first -first +second -second ") echo "ok marked programs run alone, after the others" ;;
    *) echo "not ok marked programs run alone, after the others ($order)" ;;
esac
