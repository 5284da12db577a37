#!/bin/bash
# bash FOLDER/packed.sh [-s SECONDS] [-w WORK] [-b] [-q] RESULTS [PART...]
#
# Measures with nothing but what bench/pack.sh has put into FOLDER, where this script lies, an NVIDIA driver and Python. Parts, in this order:
#
#     tests        the GPU tests -> RESULTS/tests.txt                                                    (libraries, solo, tests)
#     dispatch     what a dispatch costs -> dispatch.json                                                (libraries, solo)
#     startup      first text and change-over, beside llama.cpp's first token -> startup/                (and llama-cuda)
#     llm          Solo, torch and llama.cpp on the same models (bench/llm.sh) -> llm/                   (and both of llama.cpp)
#     families     models of other families and experts by ops and loop, beside llama.cpp CUDA -> families/ (and llama-cuda)
#     serve        many clients of solo serve, beside llama-server -> serve/                             (and http; llama-cuda with it)
#     megakernels  HazyResearch's, beside Solo -> megakernels/                                           (and megakernels)
#     torch        Solo from PyTorch, beside inductor, eager, tinygrad and onnxruntime, and a training step -> torch/ (and torch)
#     torch-models nine models of PyTorch at their real shapes, exported and compiled, beside eager mode -> torch/models.json (and torch)
#     page         the page as a person uses it -> web/                                                  (and chromium)
#     web          the four models that others publish, natively and in Chromium -> web/                 (and chromium)
#     presets      every preset and type (bench/presets.sh) -> presets/                                  (libraries, solo)
#
# Without PART, all of them. In brackets: the packages that a part wants; one that is not there leaves the part out. Records are written as they
# come, and RESULTS.tar.gz has all of them at the end, whatever happened; a table of what there is comes last.
#
#   -s SECONDS   ends after so long, whatever runs; each part gets what is left (default: 3000)
#   -w WORK      where things are unpacked, and stay for the next time (default: /tmp/solo-packed)
#   -b           behind: it goes on when this call has returned, and says what it does in RESULTS.log. Packages may come
#                while it runs: those whose .sum is there are waited for, up to ten minutes each
#   -q           quick, to try it without a GPU: small sizes, the built-in model; DRIVER then names a driver that is no GPU's
#
# Environment: DRIVER (libEGL_nvidia.so.0, looked for in the usual places: the driver's Vulkan library), ADAPTER (gpu), PYTHON (python3), WEIGHTS (a
# folder for models: /dev/shm if it has room for 40 GB, else WORK/weights), LLM_MODELS and LLM_PARTS (of bench/llm.sh), LLM_SAMPLES (5),
# SERVE_MODELS (NAME-TYPE...), SERVE_SECONDS (of 64 waiting clients: 300), FAMILIES (NAME-TYPE...), WEB_MODELS (NAME-TYPE...), PRESETS
# (NAME-TYPE...; "missing": those without a record when this was packed), TORCH_MODELS (NAME-TYPE..., f16 and
# f32), TORCH_ROUNDS (30), STARTUP_MODELS (NAME-TYPE...), TESTS (words: tests with one of them in their names).
#
# Seconds on an H200 (guessed): tests 100, dispatch 60, startup 80, llm 70 for each model in f16 (most of it torch's compiler) and 40 for each other,
# families 250, torch 180 and 150 for each model, torch-models 250, serve 600 for the first model and 250 for each
# other, megakernels 90, page 40, web 200, presets 700.
# shellcheck disable=SC2317 # parts are called by their names
set -uo pipefail
from=$(realpath "$(dirname "$0")")
. "$from/packing.inc"
began=$SECONDS most=3000 work=/tmp/solo-packed behind='' quick='' python=${PYTHON:-python3}
while getopts s:w:bqh option; do
    case $option in
        s) most=$OPTARG ;;
        w) work=$OPTARG ;;
        b) behind=1 ;;
        q) quick=1 ;;
        h) usage; exit 0 ;;
        *) usage >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || { usage >&2; exit 2; }
results=$(realpath -m "$1") tree=$work/tree
shift
all='tests dispatch startup llm families serve megakernels torch torch-models page web presets'
parts=${*:-$all}
for part in $parts; do
    case " $all " in *" $part "*) ;; *) echo "packed.sh: there is no part $part: $all" >&2; exit 2 ;; esac
done
mkdir -p "$work"/{run,home,tmp} "$results" || exit 1
if [ -n "$behind" ]; then
    WAIT_S=600 setsid nohup bash "$from/packed.sh" -s "$most" -w "$work" ${quick:+-q} "$results" "$@" >"$results.log" 2>&1 </dev/null &
    echo "packed.sh: what it does is in $results.log"
    exit 0
fi
chmod 700 "$work/run"

left() { echo $((most - (SECONDS - began) > 1 ? most - (SECONDS - began) : 1)); }
say() { echo "[$((SECONDS - began)) s] $*"; }

# within SECONDS: so many, or fewer: what is to end by itself before all ends
within() { local rest; rest=$(($(left) - 15)); echo $((rest < 5 ? 5 : rest < $1 ? rest : $1)); }

# ---- what is there -----------------------------------------------------------------------------------------

take "$from" libraries "$work/libraries" || exit 1
if [ "$(cat "$tree/.sum" 2>/dev/null)" != "$(cat "$from/solo.sum" 2>/dev/null)" ]; then rm -rf "$tree"; fi
take "$from" solo "$tree" || exit 1
ln -sfn "$work/libraries/deps" "$tree/deps"
cd "$tree" || exit 1

driver=${DRIVER:-}
for place in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
    if [ -z "$driver" ] && [ -e "$place/libEGL_nvidia.so.0" ]; then driver=$place/libEGL_nvidia.so.0; fi
done
[ -n "$driver" ] || { echo "packed.sh: libEGL_nvidia.so.0 is not here; DRIVER names another driver" >&2; exit 1; }
icd "$driver" >"$work/icd.json"
export VK_ICD_FILENAMES=$work/icd.json XDG_RUNTIME_DIR=$work/run SOLO=$tree/build/solo PYTHON=$python PYTHONDONTWRITEBYTECODE=1
outer=${LD_LIBRARY_PATH:-} # for Node, which has libraries of its own
export LD_LIBRARY_PATH=$work/libraries/loader${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# not the system's folder: it is found anyway, and before its turn it would give another Python the system's libpython
case $driver in /usr/lib/* | /usr/lib64/*) ;; */*) LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$(dirname "$driver") ;; esac

adapter=${ADAPTER:-gpu}
if [ -n "$quick" ]; then adapter=any; fi
export SOLO_FLAGS="--impl dawn --adapter $adapter"

weights=${WEIGHTS:-}
if [ -z "$weights" ]; then
    weights=$work/weights
    room=$(df --output=avail -B1G /dev/shm 2>/dev/null | tail -n 1)
    if [ "${room:-0}" -ge 40 ]; then weights=/dev/shm/solo-weights; fi
fi
mkdir -p "$weights"
# model NAME-TYPE: its file, made if need be
model() {
    if [ "$1" = builtin-q8_0 ]; then echo "$tree/models/builtin.gguf"; return; fi
    [ -e "$weights/$1.gguf" ] || "$SOLO" synth "${1%-*}" "${1##*-}" "$weights/$1.gguf" >/dev/null || return 1
    echo "$weights/$1.gguf"
}
# lib NAME: the folder of llama.cpp's libraries, if the package is there
lib() {
    [ ! -e "$from/$1.sum" ] || { take "$from" "$1" "$work/$1" && echo "$work/$1"; }
}
# bounded SECONDS COMMAND...: with all that it starts, and not past the end of all
bounded() {
    local limit rest
    limit=$1 rest=$(left)
    shift
    timeout -k 10 $((limit < rest ? limit : rest)) "$@"
}
# shown FILE COMMAND...: what it says is in FILE, and printed when it is over. No pipe: what it started may outlive it, and would hold that
shown() {
    local file=$1 status
    shift
    "$@" >"$file" 2>&1 </dev/null
    status=$?
    cat "$file"
    return "$status"
}

# ---- parts -------------------------------------------------------------------------------------------------

tests() {
    local programs=() program wanted=${TESTS:-} word status
    take "$from" tests "$work/tests" && cp -r "$work/tests/build/tests" build/ || return # beside deps: they look there
    if [ -n "$quick" ]; then wanted=${wanted:-test_gpu test_litmus}; fi
    for program in build/tests/gpu/test_*; do
        if [ -z "$wanted" ]; then programs+=("$program"); fi
        for word in $wanted; do case $program in *"$word"*) programs+=("$program") ;; esac; done
    done
    TEST_LIMIT_S=${TEST_LIMIT_S:-240} bounded 600 sh tests/run.sh "${programs[@]}" >"$results/tests.txt" 2>&1
    status=$?
    grep -E '^(FAIL|[0-9]+ passed)' "$results/tests.txt"
    return "$status"
}

dispatch() {
    local words=(--adapter "$adapter")
    if [ -n "$quick" ]; then words+=(--quick --impl "dawn,stub" --rounds 2 --processes 1); fi
    bounded 300 "$SOLO" bench dispatch "${words[@]}" --json "$results/dispatch.json" >"$results/dispatch.txt" 2>&1
}

startup() {
    local folder=$results/startup list=${STARTUP_MODELS:-builtin-q8_0 qwen2.5-0.5b-f16 llama-3-8b-q4_0 llama-3-8b-q4_k} words name file cuda status=0
    mkdir -p "$folder"
    if [ -n "$quick" ]; then list=builtin-q8_0; fi
    cuda=$(lib llama-cuda)
    for name in $list; do
        file=$(model "$name") || { status=1; continue; }
        words=(${cuda:+--llama "$cuda"})
        if [ "$name" = builtin-q8_0 ]; then file=builtin; fi
        bounded 120 "$python" bench/startup.py "$file" -r 2 --seconds 60 "${words[@]}" --json "$folder/$name.startup.json" || status=1
        # text by ops until the change-over
        bounded 120 "$python" bench/startup.py "$file" -n "$([ -n "$quick" ] && echo 16 || echo 1900)" --seconds 60 --json "$folder/$name.changeover.json" || status=1
    done
    return "$status"
}

llm() {
    local flags='' name list=${LLM_MODELS:-qwen2.5-0.5b-f16 qwen2.5-0.5b-q4_0 llama-3.2-1b-bf16 qwen2.5-1.5b-f16 llama-3-8b-q4_0 llama-3-8b-q4_k}
    local steps=${LLM_PARTS:-models logits solo torch llama} status=0 cuda vulkan size=()
    cuda=$(lib llama-cuda) vulkan=$(lib llama-vulkan)
    flags="${cuda:+--lib $cuda }${vulkan:+--lib $vulkan}"
    [ -n "$flags" ] || steps=${steps/llama/}
    if [ -n "$quick" ]; then size=(-q) list=qwen2.5-0.5b-q4_k steps='models solo llama' flags="$flags --cpu --threads 1 --flash off" FUSE=ops; export FUSE; fi
    mkdir -p "$weights/llm"
    # one model after the other: what is cut off at the end has not touched those before
    for name in $list; do
        case $name in llama-3-8b-*) ln -sf "$(model "$name")" "$weights/llm/$name.gguf" ;; esac
        # shellcheck disable=SC2086 # words
        LLAMA_FLAGS=$flags bounded 400 bench/llm.sh "${size[@]}" -o "$results/llm" -w "$weights/llm" -m "$name" -r "${LLM_SAMPLES:-5}" $steps || status=1
    done
    return "$status"
}

# Weights are written and megakernels compiled for all models at once, before anything is timed.
families() {
    local name list=${FAMILIES:-gemma-3-1b-q4_0 qwen3-0.6b-q4_0 smollm3-3b-q4_0 gemma-3-4b-q4_0 gemma-4-e2b-q4_0 gpt-oss-20b-mxfp4 qwen3-30b-a3b-q4_0}
    local cuda since status=0 size=()
    if [ -n "$quick" ]; then list=qwen3-0.6b-q4_0 size=(-q); fi
    cuda=$(lib llama-cuda)
    mkdir -p "$weights/llm"
    for name in $list; do
        { ln -sf "$(model "$name")" "$weights/llm/$name.gguf" && since=$SECONDS &&
            bounded 200 "$SOLO" run "$weights/llm/$name.gguf" -p x -n 1 --wait >/dev/null &&
            say "$name is compiled, after $((SECONDS - since)) s"; } &
    done
    wait
    for name in $list; do
        # shellcheck disable=SC2086 # words
        LLAMA_FLAGS="${cuda:+--lib $cuda}${quick:+ --cpu --threads 1 --flash off}" LADDER='' FUSE=ops,loop bounded 300 bench/llm.sh "${size[@]}" \
            -o "$results/families" -w "$weights/llm" -m "$name" -r "${LLM_SAMPLES:-5}" solo ${cuda:+llama} || status=1
        rm -f "$(realpath "$weights/llm/$name.gguf")" "$weights/llm/$name.gguf"
    done
    return "$status"
}

# The first model with waiting clients for minutes, the others for a moment. What one stream gets without a server is in *.solo.json.
serve() {
    local name file cuda words waiting=${SERVE_SECONDS:-300} status=0 list=${SERVE_MODELS:-qwen2.5-0.5b-f16 llama-3-8b-q4_0}
    take "$from" http "$work/http" || return
    mkdir -p "$results/serve"
    if [ -n "$quick" ]; then list=builtin-q8_0 waiting=${SERVE_SECONDS:-6}; fi
    cuda=$(lib llama-cuda)
    for name in $list; do
        file=$(model "$name") || { status=1; continue; }
        words=(--waiting-seconds "$waiting" --json "$results/serve/$name.serve.json" --solo-flags "--impl dawn")
        if [ -n "$quick" ]; then words+=(-p 24 -n 16 --tokens 400 --seconds 4 --warm 2 --streams "1,2" --parallel 2 --waiting 6); fi
        if [ -n "$cuda" ] && [ -x "$work/http/llama-server" ]; then words+=(--llama-server "$work/http/llama-server" --lib "$cuda"); fi
        if [ -n "$quick" ]; then words+=(--llama-flags "-t 2"); fi
        # shellcheck disable=SC2086 # words
        [ -n "$quick" ] || bounded 200 "$SOLO" bench llm "$file" --fuse ops,loop --submit batch -p 512 -d 512 $SOLO_FLAGS --json "$results/serve/$name.solo.json" || status=1
        shown "$results/serve/$name.txt" bounded $((waiting * 2 + 400)) env LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$work/http/lib" \
            "$python" bench/serve.py "$file" "${words[@]}" || status=1
        waiting=${SERVE_SECONDS:-20}
    done
    return "$status"
}

megakernels() {
    local folder=$weights/llm/llama-3.2-1b-bf16 sources=$work/megakernels depths=16,512,2048
    take "$from" megakernels "$sources" || return
    bounded 120 bench/build_megakernels.sh "$sources" || return
    [ -e "$folder/config.json" ] || bounded 120 "$python" bench/make_model.py llama-3.2-1b bf16 "$folder" || return
    mkdir -p "$results/megakernels"
    PYTHONPATH="$sources/python" bounded 200 "$python" bench/megakernels.py "$folder" --repo "$sources/repo" -d "$depths" --flags "$SOLO_FLAGS" \
        --json "$results/megakernels/llama-3.2-1b-bf16.megakernels.json"
}

# For PyTorch: its packages are there, and `here` goes before a command. What inductor compiled stays for the next process.
torch_package() {
    take "$from" torch "$work/torch" || return
    mkdir -p "$weights/torch" "$results/torch"
    here=(env "PYTHONPATH=$work/torch/python" "TINYGRAD_CC=$work/torch/clang/clang" "SOLO_DAWN=${SOLO_DAWN:-$work/libraries/deps/lib/libwebgpu_dawn.so}"
        "TORCHINDUCTOR_CACHE_DIR=$work/inductor" "TMPDIR=$work/tmp")
}

# torch_files NAME-TYPE: a folder for PyTorch and onnxruntime, the same weights as GGUF for the others
torch_files() {
    local made=$weights/torch/$1
    [ -e "$made/config.json" ] || bounded 200 "$python" bench/make_model.py "${1%-*}" "${1##*-}" "$made" || return
    [ -e "$made.gguf" ] || bounded 200 "$SOLO" convert "$made" "$made.gguf" --type "${1##*-}"
}

# Weights are written and everything is compiled for all models at once, before anything is timed: what compiles again finds it in the caches.
torch() {
    local folder=$weights/torch name type since status=0 warm=inductor,solo-compile,solo list=${TORCH_MODELS:-qwen2.5-0.5b-f16 qwen2.5-0.5b-f32 qwen2.5-1.5b-f16 qwen2.5-1.5b-f32}
    local words=(--device cuda -r "${TORCH_ROUNDS:-30}") steps=() here=()
    torch_package || return
    if [ -n "$quick" ]; then list=tiny-f32 words=(--device cpu -n 8 -r 2 --level ops) steps=(-n 3 -r 2 --batch 8 --width 32 --ways "cpu,solo,tinygrad"); fi
    for name in $list; do
        { since=$SECONDS && torch_files "$name" && say "$name is written, after $((SECONDS - since)) s" &&
            bounded 250 "${here[@]}" "$python" bench/torch_peers.py "$folder/$name" "$folder/$name.gguf" --dtype "${name##*-}" "${words[@]}" \
                --ways "$warm" --seconds 240 --warm >"$results/torch/$name.warm.txt" 2>&1 &&
            say "$name is compiled, after $((SECONDS - since)) s"; } &
    done
    wait
    for name in $list; do
        type=${name##*-}
        [ -e "$folder/$name.gguf" ] || { status=1; continue; }
        # shellcheck disable=SC2086 # words
        bounded 120 "$SOLO" bench llm "$folder/$name.gguf" --submit batch -p 8 -n "$([ -n "$quick" ] && echo 8 || echo 50)" -r 5 $SOLO_FLAGS \
            --json "$results/torch/$name.solo.json" || status=1
        bounded 500 "${here[@]}" "$python" bench/torch_peers.py "$folder/$name" "$folder/$name.gguf" --dtype "$type" "${words[@]}" --seconds "$(within 450)" \
            --json "$results/torch/$name.peers.json" || status=1
    done
    bounded 300 "${here[@]}" "$python" bench/torch_training.py "${steps[@]}" --seconds "$(within 250)" --json "$results/torch/mlp.training.json" || status=1
    return "$status"
}

torch_models() {
    local here=() words=()
    torch_package || return
    if [ -n "$quick" ]; then words=(--small --models "qwen2.5-0.5b,vit-b-16" --parallel 2 --sample 0.1); fi
    shown "$results/torch/models.txt" bounded 420 "${here[@]}" "$python" bench/torch_models.py "${words[@]}" --seconds "$(within 400)" \
        --json "$results/torch/models.json"
}

# node SECONDS WORDS...: Node and the Chromium that it starts, with their own libraries
node() {
    local root=$work/chromium limit=$1 name status
    shift
    take "$from" chromium "$root" || return
    # of these the newer one goes for both
    for name in libstdc++.so.6 libgcc_s.so.1; do
        if [ -e "/usr/lib/x86_64-linux-gnu/$name" ]; then rm -f "$root/lib/$name"; fi
    done
    printf '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>%s</dir><cachedir>%s</cachedir></fontconfig>\n' "$root/fonts" "$work/home" >"$root/fonts.conf"
    mkdir -p "$results/web"
    shown "$work/node.txt" bounded "$limit" env LD_LIBRARY_PATH="$root/lib:$(dirname "$driver")${outer:+:$outer}" SOLO_VULKAN_DRIVER="$driver" SOLO_CHROMIUM="$root/chromium/chromium" \
        HOME="$work/home" TMPDIR="$work/tmp" FONTCONFIG_FILE="$root/fonts.conf" DBUS_SESSION_BUS_ADDRESS=disabled: "$root/bin/node" "$@"
    status=$?
    cat "$work/node.txt" >>"$results/web/run.log"
    return "$status"
}

page() { node 200 bench/web_page.mjs -o "$results/web" --limit 90; }

web() {
    local words=(-o "$results/web" --adapter "$adapter" --parts "look,native,tab" -r 3 --limit 100) name file
    if [ -n "$quick" ]; then words+=(-p 32 -d 16 -n 8 -r 1); fi
    for name in ${WEB_MODELS:-$([ -n "$quick" ] && echo builtin-q8_0 || echo gemma-2b-q4_0 phi-3-mini-q4_0 mistral-7b-q4_0 llama-3-8b-q4_0)}; do
        file=$(model "$name") && words+=(--model "$file")
    done
    node 500 bench/web_gpu.mjs "${words[@]}"
}

presets() {
    local words=()
    if [ -n "$quick" ]; then words=(-q -m builtin-q8_0); fi
    case ${PRESETS:-} in
        '') ;;
        missing) words+=(-m "$(cat missing-presets)") ;;
        *) words+=(-m "$PRESETS") ;;
    esac
    rm -rf "$weights"/*.gguf "$weights/llm" # they are made again, in batches
    MODEL_SECONDS=${MODEL_SECONDS:-60} bounded 2000 bench/presets.sh "${words[@]}" -s "$(left)" -o "$results/presets" -w "$weights/presets"
}

# ---- all of it ---------------------------------------------------------------------------------------------

finish() {
    trap - EXIT
    env LD_LIBRARY_PATH="$outer" "$python" bench/packed_table.py "$results" | tee "$results/table.txt"
    tar -C "$(dirname "$results")" -czf "$results.tar.gz" "$(basename "$results")" && say "$results.tar.gz: $(stat -c %s "$results.tar.gz") bytes"
}
trap finish EXIT
trap 'exit 1' INT TERM
status=0
for part in $all; do
    case " $parts " in *" $part "*) ;; *) continue ;; esac
    if [ "$(left)" -le 5 ]; then
        say "$part: no time left"
        status=1
        continue
    fi
    say "$part"
    "${part//-/_}" || { say "$part: failed, or not all of it"; status=1; }
done
exit $status
