#!/bin/bash
# bench/presets.sh [-o FOLDER] [-w FOLDER] [-m MODELS] [-r N] [-s SECONDS] [-q]
#
# Every preset of `solo synth` in every type: speed, memory and start-up, one model after the other on one machine.
#
#     OUT/MODEL.startup.json   bench/startup.py: seconds to the first text, with empty caches and once more
#     OUT/MODEL.solo.json      solo bench llm: reading 512 tokens, making 128 after them, by ops and by loop; GPU memory
#
# What is there already is not run again: a run that was cut off goes on where it stopped. What fails leaves its reason as a
# record. The next model's weights are written while one is measured: by one thread, with the lowest priority, and only where there
# are more than two processors. Both measurements of a model share a folder of caches, so that kernels compile once.
#
#   -o FOLDER    records (default: results/presets)
#   -w FOLDER    models, each removed when it is measured (default: /tmp/solo-presets); the two largest together have 31 GB
#   -m MODELS    as NAME-TYPE (default: all presets in q4_0, q4_k, q8_0 and f16; small files first, f16 of 7B and 8B last)
#   -r N         samples of each speed (default: 3)
#   -s SECONDS   ends after so long, in the middle of a model if need be (default: 0: no bound)
#   -q           quick, to try the script itself: 32 tokens, 8 made, one sample; "builtin-q8_0" is a model, too
#
# Environment: SOLO (build/solo), SOLO_FLAGS (for bench llm: "--adapter gpu", say), MODEL_SECONDS (120: what one command may take
# before it is given up), AHEAD (1: the next model's weights are written meanwhile, however many processors; 0: not), PYTHON (python3).
#
# Exit status 1 if a model failed; the others are run all the same. `node tools/tables.mjs` then writes docs/llm.md.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/presets work=/tmp/solo-presets samples=3 most=0 quick='' models=
export SOLO=${SOLO:-build/solo}
python=${PYTHON:-python3} ahead=${AHEAD:-$(($(nproc) > 2))}
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
failed=0

if [ -z "$models" ]; then
    for preset in qwen2.5-0.5b qwen3-0.6b llama-3.2-1b qwen2.5-1.5b gemma-2b llama-3.2-3b phi-3-mini qwen3-4b; do
        for type in q4_0 q4_k q8_0 f16; do models="$models $preset-$type"; done
    done
    for preset in mistral-7b llama-3-8b; do for type in q4_0 q4_k q8_0; do models="$models $preset-$type"; done; done
    models="$models mistral-7b-f16 llama-3-8b-f16"
fi
wanted=()
for model in $models; do
    [ -e "$out/$model.solo.json" ] && [ -e "$out/$model.startup.json" ] || wanted+=("$model")
done

# left: seconds that a command may take
left() {
    local one=${MODEL_SECONDS:-120} rest=$((most - SECONDS))
    if [ "$most" -eq 0 ] || [ $rest -gt "$one" ]; then echo "$one"; else echo $((rest > 1 ? rest : 1)); fi
}
is_over() { [ "$most" -gt 0 ] && [ "$SECONDS" -ge "$most" ]; }

# bounded COMMAND...: what it says is in $work/log; $why is what went wrong, in one line
bounded() {
    local limit status
    limit=$(left)
    timeout -k 5 "$limit" "$@" >"$work/log" 2>&1
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
    [ "$1" != builtin-q8_0 ] && [ ! -e "$work/$1.gguf" ] && [ -z "${maker[$1]:-}" ] || return 0
    nice -n 19 "$SOLO" synth "${1%-*}" "${1##*-}" "$work/$1.gguf" >"$work/$1.log" 2>&1 &
    maker[$1]=$!
}
wait_for_weights() { # MODEL
    make_weights "$1"
    if [ -n "${maker[$1]:-}" ]; then
        renice -n 0 -p "${maker[$1]}" >/dev/null 2>&1
        wait "${maker[$1]}" || { why=$(tail -n 1 "$work/$1.log"); return 1; }
    fi
}
# shellcheck disable=SC2317 # called by the trap
stop_makers() { # what is being written for models that nobody waits for any more
    local name
    for name in "${!maker[@]}"; do
        kill "${maker[$name]}" 2>/dev/null
        wait "${maker[$name]}" 2>/dev/null
        rm -f "$work/$name.gguf" "$work/$name.gguf".* "$work/$name.log"
    done
    rm -rf "$work/cache"
}
trap stop_makers EXIT
trap 'exit 1' INT TERM

# ---- one model -------------------------------------------------------------------------------------------

bench() { # MODEL FILE LEVELS
    # shellcheck disable=SC2086 # no word for the built-in model; flags are words
    bounded env SOLO_CACHE="$work/cache/solo" __GL_SHADER_DISK_CACHE_PATH="$work/cache/gl" MESA_SHADER_CACHE_DIR="$work/cache/mesa" \
        "$SOLO" bench llm $2 --fuse "$3" --submit batch -p $prompt_tok -n $generated_tok -d $depth_tok -r "$samples" \
        --json "$work/record.json" ${SOLO_FLAGS:-} && mv "$work/record.json" "$out/$1.solo.json"
}

measure() { # MODEL
    local file="$work/$1.gguf" path="$work/$1.gguf" reason=
    if [ "$1" = builtin-q8_0 ]; then file="" path=builtin; fi
    rm -rf "$work/cache"
    if [ ! -e "$out/$1.startup.json" ]; then
        bounded "$python" bench/startup.py "$path" --seconds "$(left)" --cache "$work/cache" --json "$out/$1.startup.json" || leave startup "$1"
    fi
    is_over && return
    [ ! -e "$out/$1.solo.json" ] || return 0
    bench "$1" "$file" ops,loop && return
    # one dispatch is not possible everywhere: the reason goes into the record
    reason=$why
    is_over || bench "$1" "$file" ops || { leave solo "$1"; return; }
    "$python" bench/presets_record.py add "$out/$1.solo.json" "one dispatch" "$reason"
}

for i in "${!wanted[@]}"; do
    model=${wanted[i]} next=${wanted[i + 1]:-} began=$SECONDS
    if is_over; then
        echo "presets.sh: stopped before $model after $most s; run it again to go on"
        break
    fi
    if wait_for_weights "$model"; then
        made=$((SECONDS - began))
        [ -z "$next" ] || [ "$ahead" -eq 0 ] || make_weights "$next"
        measure "$model"
        [ ! -e "$out/$model.solo.json" ] ||
            echo "$("$python" bench/presets_record.py line "$out/$model.solo.json" "$out/$model.startup.json"); $((SECONDS - began)) s, $made of them for weights"
    else
        leave solo "$model"
    fi
    rm -f "$work/$model.gguf"
done
exit $failed
