#!/bin/sh
# bench/sim.sh [-o FOLDER] [-r N] [-s N] [PART...]
#
# Simulations by Solo, by hand-written CUDA, by PyTorch, torch.compile and JAX: the same work, from the same states, genes and
# prices, one after the other on one machine. Every point is a record:
#
#     builtin      every built-in simulation, one dispatch and a dispatch for each step, by every policy   -> OUT/builtin.json
#     solo         acrobot (4,096 x 500), finance (10,000 x 1,500), rastrigin (4,096 x 2,000 dimensions)   -> OUT/solo-IMPL-SIM.json
#     cuda         the same three, written by hand: exact functions, and the device's approximations       -> OUT/cuda-SIM.json, cuda-fast-SIM.json
#     frameworks   the same three in NumPy, PyTorch, torch.compile, JAX (bench/sim.py)                     -> OUT/frameworks-SIM.json
#     whole        torch.compile of 500, 1,000 and 5,000 steps as one function                             -> OUT/whole-STEPS.json
#     steps        option, 4,096 paths, 100 to 10,000 steps                                                -> OUT/steps-N.json
#     population   acrobot, 256 to 262,144 individuals                                                     -> OUT/population-N.json
#
#   PART        those to run (default: all). What is there already is not run again: a run that was cut off goes on.
#   -o FOLDER   records (default: results/sim)
#   -r N        samples of each (default: 5)
#   -s N        a share of every population, for trying this out: 1/N (default: 1)
#
# Environment: SOLO (build/solo), SOLO_FLAGS ("--adapter gpu" where DEVICE is cuda, else none), IMPLS ("dawn wgpu"), PYTHON (python3),
# DEVICE (cuda; cpu: to try it out), ENGINES (torch,compile-step,compile-graph,jax,numpy), POINT_SECONDS (280: what one point may take before it is given up).
#
# Exit status 1 if a point failed; the others are run all the same. `node tools/tables.mjs && node tools/sim_pictures.mjs results/FOLDER docs` then
# bring the records into docs/sim.md.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/sim samples=5 share=1
solo=${SOLO:-build/solo} impls=${IMPLS:-dawn wgpu} python=${PYTHON:-python3} device=${DEVICE:-cuda}
engines=${ENGINES:-torch,compile-step,compile-graph,jax,numpy} limit=${POINT_SECONDS:-280}
flags=${SOLO_FLAGS-$([ "$device" != cuda ] || echo --adapter gpu)}

usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; }
while getopts o:r:s:h option; do
    case $option in
        o) out=$OPTARG ;;
        r) samples=$OPTARG ;;
        s) share=$OPTARG ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
parts=${*:-builtin solo cuda frameworks whole steps population}
mkdir -p "$out" || exit 1
failed=0

# point NAME COMMAND...: unless its record is there; the command writes it to the file it is given last
point() {
    record=$out/$1.json name=$1
    shift
    [ ! -e "$record" ] || return 0
    echo "$name" >&2
    if ! timeout "$limit" "$@" --json "$record.part" >/dev/null; then
        echo "$name: failed" >&2
        failed=1
        rm -f "$record.part"
        return
    fi
    mv "$record.part" "$record"
}

# shellcheck disable=SC2086 # options
bench() { name=$1; shift; point "$name" "$solo" bench sim "$@" $flags -r "$samples"; }

size() { # of a headliner
    case $1 in
        acrobot) echo "--pop $((4096 / share))" ;;
        finance) echo "--pop $((10000 / share))" ;;
        rastrigin) echo "--pop $((4096 / share)) --param DIMENSIONS=2000" ;;
    esac
}

for part in $parts; do
    case $part in
        builtin)
            if [ "$share" -eq 1 ]; then bench builtin all; else bench builtin all --pop $((4096 / share)); fi ;;
        solo)
            for sim in acrobot finance rastrigin; do
                # shellcheck disable=SC2046
                for impl in $impls; do bench "solo-$impl-$sim" $sim $(size $sim) --impl "$impl"; done
            done ;;
        cuda)
            for sim in acrobot finance rastrigin; do
                # shellcheck disable=SC2046
                bench "cuda-$sim" $sim $(size $sim) --impl cuda --fuse loop
                # shellcheck disable=SC2046
                SOLO_SIM_CUDA=fast bench "cuda-fast-$sim" $sim $(size $sim) --impl cuda --fuse loop
            done ;;
        frameworks)
            for sim in acrobot finance rastrigin; do
                # shellcheck disable=SC2046
                point "frameworks-$sim" "$python" -B bench/sim.py $sim $(size $sim | sed 's/ --param.*//') --engines "$engines" --device "$device" --solo "$solo" \
                    -r "$samples" --seconds $((limit - 40))
            done ;;
        whole)
            for steps in 500 1000 5000; do
                point "whole-$steps" "$python" -B bench/sim.py finance --pop $((10000 / share)) --compile-whole $steps --device "$device" --solo "$solo" --seconds $((limit - 40))
            done ;;
        steps)
            for steps in 100 300 1000 3000 10000; do bench "steps-$steps" option --pop $((4096 / share)) --steps $steps --submit batch; done ;;
        population)
            for population in 256 1024 4096 16384 65536 262144; do bench "population-$population" acrobot --pop $((population / share)) --submit batch; done ;;
        *) echo "there is no part '$part'" >&2; exit 2 ;;
    esac
done
exit $failed
