#!/bin/sh
# bench/presets.sh [-o FOLDER] [-w FOLDER] [-m MODELS] [-r N] [-s SECONDS] [-q]
#
# Every preset of `solo synth` in every type: speed, memory and start-up, one model after the other on one machine.
#
#     OUT/MODEL.solo.json      solo bench llm: reading 512 tokens, making 128 after them, by ops and by loop
#     OUT/MODEL.startup.json   bench/startup.py: seconds to the first text, with empty caches and once more
#
# What is there already is not run again: a run that was cut off goes on where it stopped.
#
#   -o FOLDER    records (default: results/presets)
#   -w FOLDER    models, each removed when it is measured (default: /tmp/solo-presets); the largest has 16 GB
#   -m MODELS    as NAME-TYPE (default: all presets in f16, q8_0, q4_0 and q4_k; small files first, f16 of 7B and 8B last)
#   -r N         samples of each speed (default: 3)
#   -s SECONDS   starts no other model after so long (default: 0: no bound)
#   -q           quick, to try the script itself: 32 tokens, 8 made, one sample; "builtin-q8_0" is a model, too
#
# Environment: SOLO (build/solo), SOLO_FLAGS (for bench llm: "--adapter gpu", say), MODEL_SECONDS (240: what one command may take
# before it is given up), PYTHON (python3).
#
# Exit status 1 if a model failed; the others are run all the same. `node tools/tables.mjs` then writes docs/llm.md.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/presets work=/tmp/solo-presets samples=3 most=0 quick='' models=
solo=${SOLO:-build/solo} python=${PYTHON:-python3}
prompt_tok=512 generated_tok=128 depth_tok=512

usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; }
while getopts o:w:m:r:s:qh option; do
    case $option in
        o) out=$OPTARG ;;
        w) work=$OPTARG ;;
        m) models=$OPTARG ;;
        r) samples=$OPTARG ;;
        s) most=$OPTARG ;;
        q) quick=1 ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
[ -z "$quick" ] || { prompt_tok=32 generated_tok=8 depth_tok=32 samples=1; }
mkdir -p "$out" "$work" || exit 1
began=$(date +%s) failed=0

small='qwen2.5-0.5b qwen3-0.6b llama-3.2-1b qwen2.5-1.5b gemma-2b llama-3.2-3b phi-3-mini qwen3-4b' large='mistral-7b llama-3-8b'
if [ -z "$models" ]; then
    for preset in $small; do for type in q4_0 q4_k q8_0 f16; do models="$models $preset-$type"; done; done
    for preset in $large; do for type in q4_0 q4_k q8_0; do models="$models $preset-$type"; done; done
    for preset in $large; do models="$models $preset-f16"; done
fi

# run NAME COMMAND...: its last line is kept in $work/log
run() {
    name=$1 at=$(date +%s)
    shift
    timeout "${MODEL_SECONDS:-240}" "$@" >"$work/log" 2>&1 && echo "presets.sh: $name: $(($(date +%s) - at)) s" && return 0
    echo "presets.sh: $name: failed after $(($(date +%s) - at)) s: $(tail -n 1 "$work/log")" >&2
    return 1
}

bench() { # NAME FILE LEVELS
    # shellcheck disable=SC2086 # no word for the built-in model; flags are words
    run "$1, $3" "$solo" bench llm $2 --fuse "$3" --submit batch -p $prompt_tok -n $generated_tok -d $depth_tok -r "$samples" \
        --json "$out/$1.solo.json" ${SOLO_FLAGS:-}
}

measure() { # NAME
    file="$work/$1.gguf" path="$work/$1.gguf" why=
    if [ "$1" = builtin-q8_0 ]; then file="" path=builtin; else
        [ -e "$file" ] || run "$1, weights" "$solo" synth "${1%-*}" "${1##*-}" "$file" || return 1
    fi
    # one dispatch is not possible everywhere: the reason goes into the record
    if [ ! -e "$out/$1.solo.json" ] && ! bench "$1" "$file" ops,loop; then
        why=$(grep 'not possible' "$work/log" | tail -n 1)
        [ -n "$why" ] && bench "$1" "$file" ops || return 1
    fi
    [ -e "$out/$1.startup.json" ] || run "$1, start-up" "$python" bench/startup.py "$path" --solo "$solo" --seconds \
        "$((${MODEL_SECONDS:-240} / 2))" --json "$out/$1.startup.json" ${why:+--left-out "one dispatch:$why"}
}

for model in $models; do
    [ ! -e "$out/$model.solo.json" ] || [ ! -e "$out/$model.startup.json" ] || continue
    if [ "$most" -gt 0 ] && [ $(($(date +%s) - began)) -ge "$most" ]; then
        echo "presets.sh: stopped before $model after $most s; run it again to go on"
        break
    fi
    measure "$model" || failed=1
    rm -f "$work/$model.gguf"
done
exit $failed
