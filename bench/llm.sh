#!/bin/sh
# bench/llm.sh [-o FOLDER] [-w FOLDER] [-m MODELS] [-d N] [-r N] [-q] [PART...]
#
# Runs the same models on everything that is compared, on one machine, in one go, and leaves the records in a folder:
#
#     models   random weights: WORK/MODEL (a Hugging Face folder) and WORK/MODEL.gguf
#     logits   solo's logits against transformers' float32, same weights   -> OUT/MODEL.logits.json
#     solo     solo bench llm                                              -> OUT/MODEL.solo.json
#     torch    PyTorch: eager, in a CUDA graph, compiled in a CUDA graph   -> OUT/MODEL.torch.json
#     llama    llama.cpp, Vulkan and CUDA; its tokens against solo's       -> OUT/MODEL.llama.json
#
#   PART        those to run, in this order (default: all). One at a time is fine: what is there already is used.
#   -o FOLDER   records (default: results/llm)
#   -w FOLDER   models (default: /tmp/solo-llm); a 1.5B model in f32 takes 6 GB
#   -m MODELS   as NAME-TYPE (default: "qwen2.5-0.5b-f16 qwen2.5-0.5b-f32 qwen2.5-0.5b-q4_0 qwen2.5-1.5b-f16 llama-3-8b-q4_0");
#               bf16 too; q8_0 and q4_0 come as GGUF only, for solo and llama.cpp, and so do the models that `solo synth` makes: those
#               of other names or types. llama.cpp is not given f32
#   -d N        tokens that stand before the 128 that are made (default: 512)
#   -r N        samples of each (default: 5)
#   -q          quick, to try the script itself: a prompt of 32 tokens, 8 made after 32, one sample
#
# Environment: SOLO (build/solo), SOLO_FLAGS (for bench llm: "--adapter gpu", say), FUSE (none,ops,token,loop), SUBMIT
# (sync,each,pass,batch; one dispatch is measured by the last alone), LADDER ("qwen2.5-0.5b-f16": the models that every FUSE and SUBMIT
# is measured on; the others by ops, token and loop in one pass, unless FUSE or SUBMIT are given), PYTHON (python3), TORCH_SECONDS (170: what one
# torch run may take), TORCH_FLAGS, LLAMA_FLAGS ("--lib FOLDER --lib FOLDER": where llama.cpp's libraries are).
#
# Seconds on an H200 (those of token and loop guessed): models 20 for each of Qwen2.5's, 10 for Llama-3-8B; logits 15 each; solo 60 on the
# ladder, 25 on others, 40 for Llama-3-8B; torch 85 each (f16, f32), most of it compiling; llama 15 each, 30 for Llama-3-8B.
#
# llama.cpp's libraries are two npm packages, @node-llama-cpp/linux-x64-vulkan@3.22.1 and linux-x64-cuda@3.14.5 (CUDA 13; later
# ones want a newer driver; its llama.cpp, b7347, does not know gemma-4). To a machine without network all of it goes by bench/pack.sh.
#
# Exit status 1 if a part failed; the others are run all the same. `node tools/tables.mjs` then writes docs/llm.md.
set -u
cd "$(dirname "$0")/.." || exit 1

out=results/llm work=/tmp/solo-llm samples=5
models='qwen2.5-0.5b-f16 qwen2.5-0.5b-f32 qwen2.5-0.5b-q4_0 qwen2.5-1.5b-f16 llama-3-8b-q4_0'
prompt_tok=512 generated_tok=128 depth_tok=512 quick=
solo=${SOLO:-build/solo} python=${PYTHON:-python3}

usage() { sed -n '2,/^set -u/{/^set -u/d;s/^# \{0,1\}//;p}' "$0"; }
while getopts o:w:m:d:r:qh option; do
    case $option in
        o) out=$OPTARG ;;
        w) work=$OPTARG ;;
        m) models=$OPTARG ;;
        d) depth_tok=$OPTARG ;;
        r) samples=$OPTARG ;;
        q) quick=1 ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ -z "$quick" ] || { prompt_tok=32 generated_tok=8 depth_tok=32 samples=1; }
parts=${*:-models logits solo torch llama}
for part in $parts; do
    case $part in
        models | logits | solo | torch | llama) ;;
        *) echo "llm.sh: there is no part $part: models, logits, solo, torch, llama" >&2; exit 2 ;;
    esac
done
for pair in $models; do
    case $pair in
        *?-?*) ;;
        *) echo "llm.sh: $pair is not NAME-TYPE" >&2; exit 2 ;;
    esac
done
mkdir -p "$out" "$work" || exit 1

failed=0
# run NAME COMMAND...: one line about it; what it says itself only if it fails, or leaves something out
run() {
    name=$1
    shift
    began=$(date +%s)
    if "$@" >"$work/log" 2>&1; then
        echo "llm.sh: $name: $(($(date +%s) - began)) s"
        sed -n 's/^.*left out: /    left out: /p' "$work/log"
    else
        echo "llm.sh: $name: failed with status $? after $(($(date +%s) - began)) s" >&2
        tail -n 20 "$work/log" | sed 's/^/    /' >&2
        failed=1
    fi
}

# has_shape NAME: bench/models.py makes folders of it
has_shape() { case $1 in qwen2.5-* | llama-3.2-1b | tiny) return 0 ;; *) return 1 ;; esac; }
# is_plain NAME TYPE: there is a folder of it, which torch reads, too
is_plain() { case $2 in f16 | f32 | bf16) has_shape "$1" ;; *) return 1 ;; esac; }

# the folder if there is one, else the GGUF file
model_path() { if is_plain "$1" "$2"; then echo "$work/$1-$2"; else echo "$work/$1-$2.gguf"; fi; }

make_folder() {
    [ -e "$work/$1-$2/golden.json" ] || run "$1 $2, folder" "$python" bench/make_model.py "$1" "$2" "$work/$1-$2" --golden 16
}

# GGUF has the folder's weights; quantised, those of the f16 folder. A folder of a large model would take minutes: all have
# what `solo synth` makes then.
make_models() {
    source=
    if is_plain "$1" "$2"; then source=$2; fi
    case $2 in q8_0 | q4_0) if has_shape "$1"; then source=f16; fi ;; esac
    [ -z "$source" ] || make_folder "$1" "$source"
    if [ "$2" = f32 ] || [ -e "$work/$1-$2.gguf" ]; then return; fi
    if [ -n "$source" ]; then
        run "$1 $2, GGUF" "$python" bench/to_gguf.py "$work/$1-$source" "$2" "$work/$1-$2.gguf"
    else
        run "$1 $2, GGUF" "$solo" synth "$1" "$2" "$work/$1-$2.gguf"
    fi
}

check_logits() {
    ! is_plain "$1" "$2" || run "$1 $2, logits" "$python" bench/check_logits.py "$work/$1-$2" --solo "$solo" --json "$out/$1-$2.logits.json"
}

bench_solo() {
    fuse=${FUSE:-ops,token,loop} submit=${SUBMIT:-batch}
    case " ${LADDER-qwen2.5-0.5b-f16} " in
        *" $1-$2 "*) fuse=${FUSE:-none,ops,token,loop} submit=${SUBMIT:-sync,each,pass,batch} ;;
    esac
    rm -f "$out/$1-$2.solo.json"
    measure_solo "$1" "$2" "$fuse" "$submit"
    # one dispatch is not possible everywhere: the others are measured all the same
    case $fuse in
        *ops*token* | *ops*loop*) [ -s "$out/$1-$2.solo.json" ] || measure_solo "$1" "$2" ops "$submit" ;;
    esac
}

measure_solo() {
    # shellcheck disable=SC2086 # flags are words
    run "$1 $2, solo, $3" "$solo" bench llm "$(model_path "$1" "$2")" --fuse "$3" --submit "$4" -p $prompt_tok -n $generated_tok \
        -d "$depth_tok" -r "$samples" --json "$out/$1-$2.solo.json" ${SOLO_FLAGS:-}
}

bench_torch() {
    # shellcheck disable=SC2086
    ! is_plain "$1" "$2" || run "$1 $2, torch" "$python" bench/torch_llm.py --model "$work/$1-$2" --name "$1" --dtype "$2" \
        -p $prompt_tok -n $generated_tok -d "$depth_tok" -r "$samples" --seconds "${TORCH_SECONDS:-170}" --json "$out/$1-$2.torch.json" \
        ${TORCH_FLAGS:---variants eager,graph,compile}
}

bench_llama() {
    [ "$2" != f32 ] || return 0
    solo_made= # its tokens, to compare with
    [ ! -s "$out/$1-$2.solo.json" ] || solo_made="--solo $out/$1-$2.solo.json"
    # shellcheck disable=SC2086
    run "$1 $2, llama.cpp" "$python" bench/llama.py "$work/$1-$2.gguf" -p $prompt_tok -n $generated_tok -d "$depth_tok" -r "$samples" \
        $solo_made --json "$out/$1-$2.llama.json" ${LLAMA_FLAGS:-}
}

for part in $parts; do
    for pair in $models; do
        model=${pair%-*} type=${pair##*-}
        case $part in
            models) make_models "$model" "$type" ;;
            logits) check_logits "$model" "$type" ;;
            solo) bench_solo "$model" "$type" ;;
            torch) bench_torch "$model" "$type" ;;
            llama) bench_llama "$model" "$type" ;;
        esac
    done
done
exit $failed
