#!/bin/sh
# bench/serve_asan.sh [SECONDS] [OUT.json]: `solo serve` with AddressSanitizer in software, 32 clients for SECONDS (600), of
# which a third go away and some send nonsense: nothing may be lost or leaked, and each answer is the same as alone.
# Prints what was seen; OUT.json gets it as a record. Exit status 1 if anything was wrong.
set -u
cd "$(dirname "$0")/.." || exit 1
seconds=${1:-600} out=${2:-}
solo=build-san/solo
make -s SAN=1 $solo || exit 1
seen=$(mktemp) || exit 1
trap 'rm -f "$seen"' EXIT
# what was freed is kept for a short while only, so that memory says something
export ASAN_OPTIONS=detect_leaks=1:quarantine_size_mb=4:thread_local_quarantine_size_kb=64:max_redzone=16:allocator_release_to_os_interval_ms=500
export LSAN_OPTIONS=suppressions="$PWD"/tests/lsan.supp:print_suppressions=0
load=$(cut -d ' ' -f 1 /proc/loadavg)
node bench/serve_load.mjs --solo $solo --clients 32 --seconds "$seconds" --tokens 16 --serve "--fuse ops -c 256" --json "$seen"
status=$?
load="$load to $(cut -d ' ' -f 1 /proc/loadavg)"
[ -z "$out" ] || [ ! -s "$seen" ] ||
    SOLO=$solo python3 bench/serve_load_record.py "$seen" "$out" sanitizer=address load_average="$load" || status=1
exit $status
