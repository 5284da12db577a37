#!/bin/sh
# bench/load.sh [MODEL.gguf...]: how fast weights reach the GPU from the page cache, and what memory that takes.
#
#     IMPLS='dawn vulkan' THREADS='1 16' ROUNDS=5 bench/load.sh llama-3-8b-q4_0.gguf
#
# One line for each model, implementation and number of threads: the median of ROUNDS loads by turns, in GB/s, and the
# highest private and shared memory of the process (without the mapped file) that was seen. Without a model, Llama-3-8B
# is made in q4_0 and q4_k (10 GB of disk in TMPDIR). SOLO names another build.
set -eu
cd "$(dirname "$0")/.."
SOLO=${SOLO:-build/solo}
impls=${IMPLS:-dawn vulkan}
threads=${THREADS:-1 $(nproc)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ $# -eq 0 ]; then
    for type in q4_0 q4_k; do
        "$SOLO" synth llama-3-8b $type "$work/llama-3-8b-$type.gguf" >/dev/null
        set -- "$@" "$work/llama-3-8b-$type.gguf"
    done
fi

# MODEL IMPL THREADS: GB/s, and the highest memory seen in MB
load_once() {
    SOLO_LOAD_TIMES=1 SOLO_THREADS=$3 "$SOLO" logits "$1" --tokens 5 --fuse ops --impl "$2" >/dev/null 2>"$work/err" &
    pid=$! peak=0
    while [ -r /proc/$pid/status ]; do
        now=$(awk '/^Rss(Anon|Shmem):/ { sum += $2 } END { print int(sum / 1000) }' /proc/$pid/status 2>/dev/null || echo 0)
        [ "${now:-0}" -le "$peak" ] || peak=$now
        sleep 0.01
    done
    wait $pid || { cat "$work/err" >&2; exit 1; }
    echo "$(sed -n 's/^weights: .*, \([0-9.]*\) GB\/s.*/\1/p' "$work/err") $peak"
}

for model in "$@"; do
    cat "$model" >/dev/null # into the page cache
    for _ in $(seq "${ROUNDS:-5}"); do
        for impl in $impls; do
            for count in $threads; do
                load_once "$model" "$impl" "$count" >>"$work/$(basename "$model").$impl.$count"
            done
        done
    done
    for impl in $impls; do
        for count in $threads; do
            sort -n "$work/$(basename "$model").$impl.$count" | awk -v name="$(basename "$model") $impl, $count threads" '
                { speed[NR] = $1; if ($2 > most) most = $2 }
                END { printf "%s: %.2f GB/s (%.2f to %.2f), %d MB\n", name, speed[int((NR + 1) / 2)], speed[1], speed[NR], most }'
        done
    done
done
