#!/bin/sh
# bench/sim.sh [-o FOLDER] [-r N] [-s N] [PART...]
#
# Simulations by Solo, by hand-written CUDA, by PyTorch, torch.compile and JAX: the same work, from the same states, genes and
# prices, one after the other on one machine. Every point is a record. The parts, in the order to run them in, the most wanted
# first, each on its own or all together; seconds on an H200 with 16 cores, guessed, 450 in all:
#
#     solo        40 s  acrobot (4,096 x 500), finance (10,000 x 1,500), rastrigin (4,096 x 2,000 dimensions)   -> OUT/solo-IMPL-SIM.json
#     cuda        25 s  the same three, written by hand: exact functions or the device's approximations; loops  -> OUT/cuda-SIM.json, cuda-fast-SIM.json,
#                       over units of networks written out or kept                                                  cuda-loops-SIM.json, cuda-fast-loops-SIM.json
#     frameworks 180 s  the same three in NumPy, PyTorch, torch.compile, JAX (bench/sim.py)                     -> OUT/frameworks-SIM.json
#     builtin     40 s  every built-in simulation, one dispatch and a dispatch for each step, by every policy   -> OUT/builtin-SIM.json
#     steps       15 s  option, 4,096 paths, 100 to 10,000 steps                                                -> OUT/steps-N.json
#     population  35 s  acrobot, 256 to 262,144 individuals                                                     -> OUT/population-N.json
#     whole      120 s  torch.compile of 500, 1,000 and 5,000 steps as one function, WHOLE_SECONDS at most,     -> OUT/whole-STEPS.json
#                       all three at once where there are cores enough (else one after the other, and three times as long)
#
#   PART        those to run (default: all). What is there already is not run again: a run that was cut off goes on.
#   -o FOLDER   records (default: results/sim); failed.txt has what failed, and why
#   -r N        samples of each (default: 5)
#   -s N        a share of every population, for trying this out: 1/N (default: 1)
#
# Environment: SOLO (build/solo), SOLO_FLAGS ("--adapter gpu" where DEVICE is cuda, else none), IMPLS ("dawn wgpu"), PYTHON (python3),
# DEVICE (cuda; cpu: to try it out), ENGINES (numpy,torch,compile-step,compile-graph,jax), SIMS (acrobot finance rastrigin).
# What a point may take before it is given up: POINT_SECONDS (60 where DEVICE is cuda, else 280), FRAMEWORK_SECONDS (twice that), WHOLE_SECONDS (twice that).
#
# Exit status 1 if a point failed; the others are run all the same. `node tools/tables.mjs && node tools/sim_pictures.mjs results/FOLDER docs` then
# bring the records into docs/sim.md, whatever parts of them there are.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/sim samples=5 share=1
solo=${SOLO:-build/solo} impls=${IMPLS:-dawn wgpu} python=${PYTHON:-python3} device=${DEVICE:-cuda} sims=${SIMS:-acrobot finance rastrigin}
# NumPy first: its one long run goes on while others compile
engines=${ENGINES:-numpy,torch,compile-step,compile-graph,jax}
limit=${POINT_SECONDS:-$([ "$device" = cuda ] && echo 60 || echo 280)}
framework_limit=${FRAMEWORK_SECONDS:-$((2 * limit))} whole_limit=${WHOLE_SECONDS:-$((2 * limit))}
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
parts=${*:-solo cuda frameworks builtin steps population whole}
for part in $parts; do
    case $part in
        solo | cuda | frameworks | builtin | steps | population | whole) ;;
        *) echo "there is no part '$part'" >&2; exit 2 ;;
    esac
done
mkdir -p "$out" || exit 1
failed=0 form= # of the CUDA controls

# point NAME SECONDS COMMAND...: unless its record is there; the command writes it to the file it is given last
point() {
    record=$out/$1.json name=$1 seconds=$2
    shift 2
    [ ! -e "$record" ] || return 0
    began=$(date +%s)
    timeout -k 5 "$seconds" "$@" --json "$record.part" >/dev/null 2>"$record.log"
    status=$?
    took=$(($(date +%s) - began))
    if [ $status -eq 0 ] && mv "$record.part" "$record"; then
        echo "$name: $took s" >&2
        rm -f "$record.log"
        return 0
    fi
    why=$(grep -v '^ *$' "$record.log" | tail -n 1)
    # of ways that gave different bits there are times, and a check that says so
    if [ $status -eq 1 ] && [ -s "$record.part" ]; then mv "$record.part" "$record"; fi
    case $status in 124 | 137) why="not ready after $took s${why:+: }$why" ;; esac
    echo "$name: failed: $why" | tee -a "$out/failed.txt" >&2
    rm -f "$record.part" "$record.log"
    return 1
}

# shellcheck disable=SC2086 # options
bench() { name=$1; shift; point "$name" "$limit" env SOLO_SIM_CUDA="$form" "$solo" bench sim "$@" $flags -r "$samples" || failed=1; }

size() { # of a headliner
    case $1 in
        acrobot) echo "--pop $((4096 / share))" ;;
        finance) echo "--pop $((10000 / share))" ;;
        rastrigin) echo "--pop $((4096 / share)) --param DIMENSIONS=2000" ;;
    esac
}

whole() { # the processes of bench/sim.py are given up by itself; that of a point only if it hangs
    point "whole-$1" $((whole_limit + 40)) "$python" -B bench/sim.py finance --pop $((10000 / share)) --compile-whole "$1" --device "$device" --solo "$solo" \
        --seconds "$whole_limit"
}

for part in $parts; do
    case $part in
        solo)
            for sim in $sims; do
                # shellcheck disable=SC2046
                for impl in $impls; do bench "solo-$impl-$sim" "$sim" $(size "$sim") --impl "$impl"; done
            done ;;
        cuda)
            for sim in $sims; do
                for form in "" fast- loops- fast-loops-; do
                    # shellcheck disable=SC2046
                    bench "cuda-$form$sim" "$sim" $(size "$sim") --impl cuda --fuse loop
                done
                form=
            done ;;
        frameworks)
            for sim in $sims; do
                # shellcheck disable=SC2046
                point "frameworks-$sim" $((framework_limit + 40)) "$python" -B bench/sim.py "$sim" $(size "$sim" | sed 's/ --param.*//') --engines "$engines" \
                    --device "$device" --solo "$solo" -r "$samples" --seconds "$framework_limit" || failed=1
            done ;;
        builtin)
            for sim in $("$solo" sim --list | awk '/^[a-z]/ { print $1 }'); do
                # shellcheck disable=SC2046
                bench "builtin-$sim" "$sim" $([ "$share" -eq 1 ] || echo "--pop $((4096 / share))")
            done ;;
        steps)
            for steps in 100 300 1000 3000 10000; do bench "steps-$steps" option --pop $((4096 / share)) --steps $steps --submit batch; done ;;
        population)
            for population in 256 1024 4096 16384 65536 262144; do
                [ $((population / share)) -eq 0 ] || bench "population-$population" acrobot --pop $((population / share)) --submit batch
            done ;;
        whole)
            if [ "$(nproc)" -ge 12 ]; then
                whole 500 & first=$!
                whole 1000 & second=$!
                whole 5000 || failed=1
                wait $first || failed=1
                wait $second || failed=1
            else
                for steps in 500 1000 5000; do whole $steps || failed=1; done
            fi ;;
    esac
done
exit $failed
