#!/bin/sh
# bench/one.sh [-o FOLDER] [-w FOLDER] [-r N] [-n N] [-d DEPTHS] [-g GROUPS] [-m MODELS] [-M MODEL] [SWEEP...]
#
# How many tokens a second one dispatch makes (loop), beside fused operators (ops), as one thing changes at a time. Every
# point is a run of `solo bench llm`, which compares the tokens of both, and a record; one after the other on one machine:
#
#     depth    tokens that stand before, on one model              -> OUT/depth-N.json
#     groups   workgroups of the one dispatch, on the same model   -> OUT/groups-N.json; groups-free.json: as many as Solo takes
#     size     models                                              -> OUT/size-MODEL.json
#
#   SWEEP       those to run (default: all). What is there already is not run again: a sweep that was cut off goes on.
#   -o FOLDER   records (default: results/one)
#   -w FOLDER   models, as bench/llm.sh makes them (default: /tmp/solo-llm); a GGUF file that is missing is made here
#               (`solo synth`, random weights: the same speed, no sense)
#   -r N        samples of each (default: 3)
#   -n N        tokens of each (default: 64)
#   -d DEPTHS   default: "0 512 2048 4096 8192"
#   -g GROUPS   default: "1 16 33 66 132 free"
#   -m MODELS   of the sweep of sizes, as NAME-TYPE (default: "builtin qwen2.5-0.5b-f16 qwen2.5-1.5b-f16 llama-3-8b-q4_0")
#   -M MODEL    of the two others (default: qwen2.5-0.5b-f16)
#
# Environment: SOLO (build/solo), SOLO_FLAGS (for bench llm: "--adapter gpu", say), FUSE (ops,loop), POINT_SECONDS (150: what one point may
# take before it is given up). Depth of the sweeps of groups and sizes: DEPTH (512).
#
# On an H200, guessed, with the models there: depth 75 s, groups 80 s (one workgroup alone makes 40 tokens a second), size 60 s;
# Llama-3-8B is written in about 10 s more.
#
# Exit status 1 if a point failed; the others are run all the same. `node tools/tables.mjs && node tools/one_pictures.mjs
# results/h200/llm docs` then bring the records into docs/megakernel.md.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/one work=/tmp/solo-llm samples=3 tokens=64 depths='0 512 2048 4096 8192' groups='1 16 33 66 132 free'
models='builtin qwen2.5-0.5b-f16 qwen2.5-1.5b-f16 llama-3-8b-q4_0' model=qwen2.5-0.5b-f16
solo=${SOLO:-build/solo} depth=${DEPTH:-512}

usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; }
while getopts o:w:r:n:d:g:m:M:h option; do
    case $option in
        o) out=$OPTARG ;;
        w) work=$OPTARG ;;
        r) samples=$OPTARG ;;
        n) tokens=$OPTARG ;;
        d) depths=$OPTARG ;;
        g) groups=$OPTARG ;;
        m) models=$OPTARG ;;
        M) model=$OPTARG ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
sweeps=${*:-depth groups size}
for sweep in $sweeps; do
    case $sweep in
        depth | groups | size) ;;
        *) echo "one.sh: there is no sweep $sweep: depth, groups, size" >&2; exit 2 ;;
    esac
done
mkdir -p "$out" "$work" || exit 1
failed=0

# The folder or file of NAME-TYPE; nothing for the built-in model.
path_of() {
    if [ "$1" = builtin ]; then return; fi
    if [ -e "$work/$1/config.json" ]; then echo "$work/$1"; else echo "$work/$1.gguf"; fi
}

make_model() {
    path=$(path_of "$1")
    [ -n "$path" ] && [ ! -e "$path" ] || return 0
    "$solo" synth "${1%-*}" "${1##*-}" "$path" >"$work/log" 2>&1 && return 0
    echo "one.sh: $1: cannot be made: $(tail -n 1 "$work/log")" >&2
    failed=1
    return 1
}

# point NAME MODEL DEPTH [GROUPS]: one record. What another sweep has measured already (the same model and depth, workgroups
# left free) is taken from there.
point() {
    [ ! -e "$out/$1.json" ] || return 0
    if [ -z "${4:-}" ] && [ "$2" = "$model" ]; then
        for twin in "depth-$3" $([ "$3" != "$depth" ] || echo "groups-free size-$2"); do
            if [ -e "$out/$twin.json" ]; then
                cp "$out/$twin.json" "$out/$1.json" && echo "one.sh: $1: as $twin"
                return 0
            fi
        done
    fi
    make_model "$2" || return 0
    began=$(date +%s)
    # shellcheck disable=SC2046,SC2086 # no word for the built-in model; flags are words
    if env ${4:+SOLO_ONE_GROUPS=$4} timeout "${POINT_SECONDS:-150}" "$solo" bench llm $(path_of "$2") --fuse "${FUSE:-ops,loop}" --submit batch -p 0 \
        -n "$tokens" -d "$3" -r "$samples" --json "$out/$1.json" ${SOLO_FLAGS:-} >"$work/log" 2>&1; then
        echo "one.sh: $1: $(($(date +%s) - began)) s"
    else
        echo "one.sh: $1: failed with status $? after $(($(date +%s) - began)) s: $(tail -n 1 "$work/log")" >&2
        rm -f "$out/$1.json"
        failed=1
    fi
}

for sweep in $sweeps; do
    case $sweep in
        depth) for n in $depths; do point "depth-$n" "$model" "$n"; done ;;
        groups)
            for n in $groups; do # beside ops, too: those are the tokens that it must make
                if [ "$n" = free ]; then forced=; else forced=$n; fi
                point "groups-$n" "$model" "$depth" "$forced"
            done ;;
        size) for m in $models; do point "size-$m" "$m" "$depth"; done ;;
    esac
done
exit $failed
