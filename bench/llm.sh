#!/bin/sh
# bench/llm.sh [-o FOLDER] [-w FOLDER] [-m MODELS] [-t TYPES] [-r N] [PART...]
#
# Runs the same models on everything that is compared, on one machine, in one go, and leaves the records in a folder:
#
#     models   random weights: WORK/MODEL-TYPE (a Hugging Face folder) and WORK/MODEL-TYPE.gguf
#     logits   solo's logits against transformers' float32, same weights   -> OUT/MODEL-TYPE.logits.json
#     solo     solo bench llm                                              -> OUT/MODEL-TYPE.solo.json
#     torch    PyTorch: eager, in a CUDA graph, compiled in a CUDA graph   -> OUT/MODEL-TYPE.torch.json
#     llama    llama.cpp, CUDA and Vulkan                                  -> OUT/MODEL-TYPE.llama.json
#
#   PART        those to run, in this order (default: all). One at a time is fine: what is there already is used.
#   -o FOLDER   records (default: results/llm)
#   -w FOLDER   models (default: /tmp/solo-llm); a 1.5B model in f32 takes 6 GB
#   -m MODELS   default: "qwen2.5-0.5b qwen2.5-1.5b"
#   -t TYPES    default: "f16 f32"; bf16 too; q8_0 and q4_0 (and what `solo synth` makes) come as GGUF only,
#               for solo and llama.cpp
#   -r N        samples of each (default: 5)
#
# Environment: SOLO (build/solo), SOLO_FLAGS (for bench llm: "--impl dawn", say), FUSE (none,ops), SUBMIT (sync,each,pass,batch),
# PYTHON (python3), TORCH_SECONDS (170: what one torch run may take), TORCH_FLAGS, LLAMA_FLAGS.
#
# Exit status 1 if a part failed; the others are run all the same. `node tools/tables.mjs` then writes docs/llm.md.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/llm work=/tmp/solo-llm models='qwen2.5-0.5b qwen2.5-1.5b' types='f16 f32' samples=5
prompt_tok=512 generated_tok=128
solo=${SOLO:-build/solo} python=${PYTHON:-python3}

usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; }
while getopts o:w:m:t:r:h option; do
    case $option in
        o) out=$OPTARG ;;
        w) work=$OPTARG ;;
        m) models=$OPTARG ;;
        t) types=$OPTARG ;;
        r) samples=$OPTARG ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
parts=${*:-models logits solo torch llama}
for part in $parts; do
    case $part in
        models | logits | solo | torch | llama) ;;
        *) echo "llm.sh: there is no part $part: models, logits, solo, torch, llama" >&2; exit 2 ;;
    esac
done
mkdir -p "$out" "$work" || exit 1

failed=0
# run NAME COMMAND...: one line about it; what it says itself only if it fails
run() {
    name=$1
    shift
    began=$(date +%s)
    if "$@" >"$work/log" 2>&1; then
        echo "llm.sh: $name: $(($(date +%s) - began)) s"
    else
        echo "llm.sh: $name: failed with status $? after $(($(date +%s) - began)) s" >&2
        tail -n 20 "$work/log" | sed 's/^/    /' >&2
        failed=1
    fi
}

is_plain() { case $1 in f16 | f32 | bf16) return 0 ;; *) return 1 ;; esac; }

# the folder if there is one, else the GGUF file
model_path() { if is_plain "$2"; then echo "$work/$1-$2"; else echo "$work/$1-$2.gguf"; fi; }

make_folder() {
    [ -e "$work/$1-$2/golden.json" ] || run "$1 $2, folder" "$python" bench/make_model.py "$1" "$2" "$work/$1-$2" --golden 16
}

# GGUF has the folder's weights; quantised, those of the f16 folder
make_models() {
    source=$2
    case $2 in
        q8_0 | q4_0) source=f16 ;;
        f16 | f32 | bf16) ;;
        *) source= ;;
    esac
    [ -z "$source" ] || make_folder "$1" "$source"
    [ ! -e "$work/$1-$2.gguf" ] || return
    if [ -n "$source" ]; then
        run "$1 $2, GGUF" "$python" bench/to_gguf.py "$work/$1-$source" "$2" "$work/$1-$2.gguf"
    else
        run "$1 $2, GGUF" "$solo" synth "$1" "$2" "$work/$1-$2.gguf"
    fi
}

check_logits() {
    ! is_plain "$2" || run "$1 $2, logits" "$python" bench/check_logits.py "$work/$1-$2" --solo "$solo" --json "$out/$1-$2.logits.json"
}

bench_solo() {
    # shellcheck disable=SC2086 # flags are words
    run "$1 $2, solo" "$solo" bench llm "$(model_path "$1" "$2")" --fuse "${FUSE:-none,ops}" --submit "${SUBMIT:-sync,each,pass,batch}" \
        -p $prompt_tok -n $generated_tok -r "$samples" --json "$out/$1-$2.solo.json" ${SOLO_FLAGS:-}
}

bench_torch() {
    # shellcheck disable=SC2086
    ! is_plain "$2" || run "$1 $2, torch" "$python" bench/torch_llm.py --model "$work/$1-$2" --name "$1" --dtype "$2" \
        -p $prompt_tok -n $generated_tok -r "$samples" --seconds "${TORCH_SECONDS:-170}" --json "$out/$1-$2.torch.json" ${TORCH_FLAGS:-}
}

bench_llama() {
    # shellcheck disable=SC2086
    [ "$2" = f32 ] || run "$1 $2, llama.cpp" "$python" bench/llama.py "$work/$1-$2.gguf" \
        -p $prompt_tok -n $generated_tok -r "$samples" --json "$out/$1-$2.llama.json" ${LLAMA_FLAGS:-}
}

for part in $parts; do
    for model in $models; do
        for type in $types; do
            case $part in
                models) make_models "$model" "$type" ;;
                logits) check_logits "$model" "$type" ;;
                solo) bench_solo "$model" "$type" ;;
                torch) bench_torch "$model" "$type" ;;
                llama) bench_llama "$model" "$type" ;;
            esac
        done
    done
done
exit $failed
