#!/bin/bash
# bench/presets.sh [-o FOLDER] [-w FOLDER] [-m MODELS] [-k FOLDER] [-r N] [-s SECONDS] [-q] [-l]
#
# Every preset of `solo synth` in every type: speed, memory and start-up, one model after the other on one machine.
#
#     OUT/MODEL.startup.json   bench/startup.py: seconds to the first text, with empty caches and once more
#     OUT/MODEL.solo.json      solo bench llm: reading 512 tokens, making 128 after them, by ops and by loop; GPU memory
#
# What is there already is not run again: a run that was cut off goes on where it stopped. What fails leaves its reason as a
# record. Models are taken in batches, each as large as its files have room for. Nothing is measured while anything is written or
# compiled: all files of a batch are written at once, by a process each; then each model starts up; then all megakernels compile,
# and `compile_s` in the record is how long that took beside the others (a run with --wait, of a model whose other kernels were
# compiled); then each model is measured. Its measurements share a folder of caches, so that kernels compile once.
#
#   -o FOLDER    records (default: results/presets)
#   -w FOLDER    models, each removed when it is measured (default: /tmp/solo-presets); the largest has 16 GB
#   -m MODELS    as NAME-TYPE (default: all presets in q4_0, q4_k, q8_0 and f16; small files first, f16 of 7B and 8B last)
#   -k FOLDER    records that are known already, of an earlier run with the same code: their models are not run again
#   -r N         samples of each speed (default: 3)
#   -s SECONDS   ends after so long, in the middle of a model if need be (default: 0: no bound)
#   -q           quick, to try the script itself: 32 tokens, 8 made, one sample; "builtin-q8_0" is a model, too
#   -l           only prints the models that would be run, and the size of their files in MB
#
# Environment: SOLO (build/solo), SOLO_FLAGS (for bench llm: "--adapter gpu", say), MODEL_SECONDS (120: what one command may take
# before it is given up), BATCH (8: models in a batch at most; 1: one by one), ROOM_MB (of the files of a batch; default: four fifths
# of what is free where the models go), PYTHON (python3).
#
# Exit status 1 if a model failed; the others are run all the same. `node tools/tables.mjs` then writes docs/llm.md.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/presets work=/tmp/solo-presets samples=3 most=0 quick='' models='' known='' only_list=''
export SOLO=${SOLO:-build/solo}
python=${PYTHON:-python3} most_models=${BATCH:-8}
prompt_tok=512 generated_tok=128 depth_tok=512

usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; }
while getopts o:w:m:k:r:s:qlh option; do
    case $option in
        o) out=$OPTARG ;;
        w) work=$OPTARG ;;
        m) models=$OPTARG ;;
        k) known=$OPTARG ;;
        r) samples=$OPTARG ;;
        s) most=$OPTARG ;;
        q) quick=1 ;;
        l) only_list=1 ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
[ -z "$quick" ] || { prompt_tok=32 generated_tok=8 depth_tok=32 samples=1; }
failed=0

if [ -z "$models" ]; then
    for preset in qwen2.5-0.5b qwen3-0.6b llama-3.2-1b qwen2.5-1.5b gemma-2b llama-3.2-3b phi-3-mini qwen3-4b; do
        for type in q4_0 q4_k q8_0 f16; do models="$models $preset-$type"; done
    done
    for preset in mistral-7b llama-3-8b; do for type in q4_0 q4_k q8_0; do models="$models $preset-$type"; done; done
    models="$models mistral-7b-f16 llama-3-8b-f16"
fi
# has_records MODEL FOLDER: both, with something measured
has_records() {
    [ -e "$2/$1.startup.json" ] && grep -qs '"tg[0-9]*"' "$2/$1.solo.json"
}
wanted=()
for model in $models; do
    if [ -n "$known" ] && has_records "$model" "$known"; then continue; fi
    [ -e "$out/$model.solo.json" ] && [ -e "$out/$model.startup.json" ] || wanted+=("$model")
done

# megabytes MODEL: of its file, a little more than it has, from the number of weights in its name
megabytes() {
    local billions bits=5
    case $1 in
        builtin-*) echo 0; return ;;
        phi-3-mini-*) billions=3.9 ;;
        *) billions=$(grep -oE '[0-9.]+b' <<<"$1" | head -n 1) billions=${billions:-0b} ;;
    esac
    case $1 in gemma-*) billions="${billions%b} * 1.4" ;; esac # large vocabularies are not in the name
    case ${1##*-} in f32) bits=32 ;; f16 | bf16) bits=16 ;; q8_0) bits=8.6 ;; q5_* | q6_*) bits=7 ;; esac
    awk "BEGIN { printf \"%d\\n\", (${billions%b} * 1.1 + 0.2) * $bits * 125 }"
}
if [ -n "$only_list" ]; then
    for model in "${wanted[@]}"; do echo "$model $(megabytes "$model")"; done
    exit
fi
mkdir -p "$out" "$work" || exit 1

# left: seconds that a command may take
left() {
    local one=${MODEL_SECONDS:-120} rest=$((most - SECONDS))
    if [ "$most" -eq 0 ] || [ $rest -gt "$one" ]; then echo "$one"; else echo $((rest > 1 ? rest : 1)); fi
}
is_over() { [ "$most" -gt 0 ] && [ "$SECONDS" -ge "$most" ]; }

# bounded COMMAND...: what it says is in $work/log; $why is what went wrong, in one line. CACHES=MODEL: with that model's caches
bounded() {
    local limit status
    limit=$(left)
    ${CACHES:+with_caches "$CACHES"} timeout -k 5 "$limit" "$@" >"$work/log" 2>&1
    status=$?
    [ $status -ne 0 ] || return 0
    why=$(tr '\r' '\n' <"$work/log" | grep . | tail -n 1)
    [ $status -ne 124 ] && [ $status -ne 137 ] || why="not done after $limit s${why:+: $why}"
    return 1
}

# leave WHICH MODEL: a record that has nothing but the reason; none if it was the time that ended it
leave() {
    failed=1
    echo "presets.sh: $2, $1: $why" >&2
    is_over || "$python" bench/presets_record.py failed "$out/$2.$1.json" "$1" "$2" "$why"
}

# ---- weights ---------------------------------------------------------------------------------------------

declare -A maker=() # the process that writes a model's file
make_weights() { # MODEL
    [ "$1" != builtin-q8_0 ] && [ ! -e "$work/$1.gguf" ] || return 0
    "$SOLO" synth "${1%-*}" "${1##*-}" "$work/$1.gguf" >"$work/$1.log" 2>&1 &
    maker[$1]=$!
}
wait_for_weights() { # MODEL
    [ -z "${maker[$1]:-}" ] || wait "${maker[$1]}" || { why=$(tail -n 1 "$work/$1.log"); return 1; }
}
# shellcheck disable=SC2317 # called by the trap
stop_makers() { # what is being written for models that nobody waits for any more
    local name
    for name in "${!maker[@]}"; do
        kill "${maker[$name]}" 2>/dev/null
        wait "${maker[$name]}" 2>/dev/null
        rm -f "$work/$name.gguf" "$work/$name.gguf".* "$work/$name.log"
    done
    for name in "${!compiler[@]}"; do kill "${compiler[$name]}" 2>/dev/null; done
    rm -rf "$work"/cache-*
}
trap stop_makers EXIT
trap 'exit 1' INT TERM

# ---- one model -------------------------------------------------------------------------------------------

# with_caches MODEL COMMAND...: with what this model has left there
with_caches() {
    local folder=$work/cache-$1
    shift
    env SOLO_CACHE="$folder/solo" __GL_SHADER_DISK_CACHE_PATH="$folder/gl" MESA_SHADER_CACHE_DIR="$folder/mesa" "$@"
}
# file_of MODEL: its word on a command line; none for the built-in model
file_of() { [ "$1" = builtin-q8_0 ] || echo "$work/$1.gguf"; }

start_up() { # MODEL
    local path
    path=$(file_of "$1")
    [ -e "$out/$1.startup.json" ] ||
        bounded "$python" bench/startup.py "${path:-builtin}" --seconds "$(left)" --cache "$work/cache-$1" --json "$out/$1.startup.json" || leave startup "$1"
}

declare -A compiler=() # the process that compiles a model's megakernel
compile() { # MODEL
    [ ! -e "$out/$1.solo.json" ] || return 0
    local limit
    limit=$(left)
    # shellcheck disable=SC2046 # no word for the built-in model
    {
        began=$EPOCHREALTIME
        with_caches "$1" timeout -k 5 "$limit" "$SOLO" run $(file_of "$1") -p x -n 1 --wait >/dev/null 2>&1 &&
            "$python" -c "print($EPOCHREALTIME - $began)" >"$work/$1.compile_s"
    } &
    compiler[$1]=$!
}

bench() { # MODEL LEVELS
    # shellcheck disable=SC2046,SC2086 # no word for the built-in model; flags are words
    CACHES=$1 bounded "$SOLO" bench llm $(file_of "$1") --fuse "$2" --submit batch -p $prompt_tok -n $generated_tok -d $depth_tok \
        -r "$samples" --json "$work/record.json" ${SOLO_FLAGS:-} && mv "$work/record.json" "$out/$1.solo.json"
}

measure() { # MODEL
    local reason=
    [ ! -e "$out/$1.solo.json" ] || return 0
    is_over && return
    if ! bench "$1" ops,loop; then
        # one dispatch is not possible everywhere: the reason goes into the record
        reason=$why
        is_over || bench "$1" ops || { leave solo "$1"; return; }
        "$python" bench/presets_record.py add "$out/$1.solo.json" "one dispatch" "$reason"
    fi
    [ ! -e "$work/$1.compile_s" ] || "$python" bench/presets_record.py compiled "$out/$1.solo.json" "$(cat "$work/$1.compile_s")"
}

# finish MODEL: what comes behind its start-up
finish() {
    measure "$1"
    [ ! -e "$out/$1.solo.json" ] || "$python" bench/presets_record.py line "$out/$1.solo.json" "$out/$1.startup.json"
    [ ! -e "$out/$1.solo.json" ] || echo "; at $SECONDS s"
    rm -rf "$work/$1.gguf" "$work/$1.compile_s" "$work/cache-$1"
}

# ---- batches ---------------------------------------------------------------------------------------------

# take_batch: as many of those that are left as there is room for, at least one, into `batch`
take_batch() {
    local room model next=0
    room=${ROOM_MB:-$(($(df --output=avail -BM "$work" | tail -n 1 | tr -dc 0-9) * 4 / 5))}
    batch=()
    for model in "${wanted[@]}"; do
        if [ "${#batch[@]}" -ge "$most_models" ]; then break; fi
        if [ "${#batch[@]}" -gt 0 ] && [ "$(megabytes "$model")" -gt "$room" ]; then break; fi
        room=$((room - $(megabytes "$model")))
        batch+=("$model")
        next=$((next + 1))
    done
    wanted=("${wanted[@]:next}")
}

while [ "${#wanted[@]}" -gt 0 ]; do
    if is_over; then
        echo "presets.sh: stopped before ${wanted[0]} after $most s; run it again to go on"
        break
    fi
    take_batch
    for model in "${batch[@]}"; do make_weights "$model"; done
    there=()
    for model in "${batch[@]}"; do
        if wait_for_weights "$model"; then there+=("$model"); else leave solo "$model"; fi
    done
    echo "${#there[@]} models are written; at $SECONDS s"
    for model in "${there[@]}"; do
        is_over && break
        rm -rf "$work/cache-$model"
        start_up "$model"
    done
    for model in "${there[@]}"; do is_over || compile "$model"; done
    for model in "${there[@]}"; do [ -z "${compiler[$model]:-}" ] || wait "${compiler[$model]}"; done
    for model in "${there[@]}"; do is_over || finish "$model"; done
done
exit $failed
