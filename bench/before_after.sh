#!/bin/bash
# bench/before_after.sh BEFORE AFTER RESULTS [WHAT...]
#
# Two builds of solo side by side on one machine: does a change cost speed? Runs the same measurements with both by turns and
# keeps the records as RESULTS/WHAT.before.json and RESULTS/WHAT.after.json; `solo compare` prints what differs.
#
# WHAT: a model as PRESET-TYPE (made with `solo synth` in MODELS), sim, dispatch; default: those below.
# Environment: MODELS (/tmp/solo-models), FLAGS (--impl dawn --adapter gpu), REPEATS (3).
set -uo pipefail
usage() { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0"; }
[ $# -ge 3 ] || { usage >&2; exit 2; }
# shellcheck disable=SC2034 # both are read by name
before=$(realpath "$1") after=$(realpath "$2") results=$3 models=${MODELS:-/tmp/solo-models} repeats=${REPEATS:-3}
shift 3
[ $# -gt 0 ] || set -- qwen2.5-0.5b-f16 qwen2.5-0.5b-q4_0 qwen2.5-1.5b-f16 llama-3-8b-q4_0 sim dispatch
read -ra flags <<<"${FLAGS:---impl dawn --adapter gpu}"
mkdir -p "$results" "$models"
status=0

# both NAME ARGUMENTS...: the same command by either build, a record each
both() {
    local name=$1 which binary
    shift
    for which in before after; do
        binary=${!which}
        echo "== $name, $which"
        "$binary" "$@" --json "$results/$name.$which.json" || status=1
    done
    "$after" compare "$results/$name.before.json" "$results/$name.after.json" || status=1
}

for what; do
    case $what in
        sim) both sim bench sim acrobot,nbody --fuse loop "${flags[@]}" ;;
        dispatch) both dispatch bench dispatch --quick --impl dawn,vulkan --adapter gpu ;;
        *)
            model=$models/$what.gguf
            [ -e "$model" ] || "$after" synth "${what%-*}" "${what##*-}" "$model" || exit 1
            both "$what" bench llm "$model" --fuse ops,loop --submit batch -p 512 -n 128 -r "$repeats" "${flags[@]}"
            rm -f "$model"
            ;;
    esac
done
exit $status
