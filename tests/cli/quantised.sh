#!/bin/sh
# Folders with weights of int4 (GPTQ, AWQ) and fp8, also by compressed-tensors: the logits of a folder with the same numbers
# in f32; and what is refused.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
    echo "skip quantised folders (no python3 here)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tokens=1,17,42,5,99,3,128,77,64,23

check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then echo "ok $what"; else echo "not ok $what ($(echo "$said" | tail -n 1))"; fi
}

refused() {
    what=$1 part=$2
    if "$SOLO" logits "$work/gptq/quantised" --tokens 1 >"$work/out" 2>"$work/err" || ! grep -qF -- "$part" "$work/err" ||
        [ "$(wc -l <"$work/err")" -ne 1 ]; then
        echo "not ok $what ($(head -c 200 "$work/err"))"
    else
        echo "ok $what"
    fi
}

python3 tests/oracle/make_folder.py llama "$work/llama"
for kind in gptq gptq-zeros gptq-order gptq-v2 gptq-bias gptq8 gptq8-zeros awq fp8 fp8-tensor \
    packed packed-zeros packed-order packed8 packed8-zeros packed-tiny packed-channel bytes floats; do
    case $kind in *-order | f* | *8-zeros | packed-tiny) limit=2e-3 ;; *) limit=2e-5 ;; esac # those become f16, the others stay exact
    python3 tests/oracle/make_quantised.py "$work/llama" "$work/$kind" $kind
    "$SOLO" logits "$work/$kind/plain" --tokens $tokens >"$work/plain.json"
    "$SOLO" logits "$work/$kind/quantised" --tokens $tokens >"$work/got.json" 2>"$work/err" || cat "$work/err"
    check "$kind: the logits of its numbers in f32" python3 tests/oracle/compare_logits.py "$work/plain.json" "$work/got.json" $limit
done
# experts, by both families' names; kinds that become q4_0, q8_0 and f16
python3 tests/oracle/make_folder.py mixtral "$work/mixtral"
python3 tests/oracle/make_folder.py qwen3-moe "$work/qwen3-moe"
ln -s "$PWD/tests/data/families/deepseek2-single" "$work/deepseek"
tokens=1,17,42,5,9,3,28,57,44
for kind in deepseek:fp8 mixtral:gptq mixtral:awq qwen3-moe:packed qwen3-moe:packed-zeros qwen3-moe:fp8 qwen3-moe:bytes; do
    case $kind in *fp8) limit=2e-3 ;; *) limit=2e-5 ;; esac
    folder=$work/${kind%:*}-${kind#*:}
    python3 tests/oracle/make_quantised.py "$work/${kind%:*}" "$folder" "${kind#*:}"
    "$SOLO" logits "$folder/plain" --tokens $tokens >"$work/plain.json"
    "$SOLO" logits "$folder/quantised" --tokens $tokens >"$work/got.json" 2>"$work/err" || cat "$work/err"
    check "${kind#*:}, experts of a ${kind%:*}" python3 tests/oracle/compare_logits.py "$work/plain.json" "$work/got.json" $limit
done
SOLO_THREADS=3 "$SOLO" logits "$work/mixtral-awq/quantised" --tokens $tokens >"$work/got.json"
"$SOLO" logits "$work/mixtral-awq/plain" --tokens $tokens >"$work/plain.json"
check "unpacked by three threads" python3 tests/oracle/compare_logits.py "$work/plain.json" "$work/got.json" 2e-5
"$SOLO" convert "$work/mixtral-gptq/quantised" "$work/mixtral.gguf" --type f32 >/dev/null
"$SOLO" logits "$work/mixtral.gguf" --tokens $tokens >"$work/got.json" 2>"$work/err" || cat "$work/err"
"$SOLO" logits "$work/mixtral-gptq/plain" --tokens $tokens >"$work/plain.json"
check "quantised experts in a GGUF file" python3 tests/oracle/compare_logits.py "$work/plain.json" "$work/got.json" 2e-5

"$SOLO" convert "$work/gptq/quantised" "$work/gptq.gguf" --type q4_0 >/dev/null
"$SOLO" logits "$work/gptq/plain" --tokens $tokens >"$work/plain.json"
"$SOLO" logits "$work/gptq.gguf" --tokens $tokens >"$work/got.json" 2>"$work/err" || cat "$work/err"
check "gptq becomes q4_0 in a GGUF file" python3 tests/oracle/compare_logits.py "$work/plain.json" "$work/got.json" 0.1

config=$work/gptq/quantised/config.json
cp "$config" "$work/config"
change() { sed "s/$1/$2/" "$work/config" >"$config"; }
change '"bits": 4' '"bits": 3'
refused "another number of bits" "another number of bits than 4 or 8"
change '"group_size": 32' '"group_size": 48'
refused "groups of 48" "no multiple of 32"
change '"group_size": 32' '"group_size": 64'
refused "another group size than the file's" "do not fit each other"
change '"gptq", "bits"' '"bitsandbytes", "bits"'
refused "another method" "the method bitsandbytes"

config=$work/gptq/quantised/config.json
change '"gptq", "bits"' '"compressed-tensors", "bits"'
refused "compressed-tensors that say nothing" "a file without \"config_groups\""
packed() { # a change of what compressed-tensors says
    sed "s/$1/$2/" "$work/packed/quantised/config.json" >"$config"
}
packed pack-quantized nvfp4-pack-quantized
refused "another format" "the format nvfp4-pack-quantized"
packed '"num_bits": 4' '"num_bits": 2'
refused "another number of bits in words" "another number of bits than 4 or 8"
packed '"group_size": 32' '"group_size": 16'
refused "groups of 16" "no multiple of 32"
packed '"strategy": "group"' '"strategy": "token"'
refused "another strategy" "this \"strategy\""
packed '"ignore"' '"transform_config": {"a": 1}, "ignore"'
refused "weights that are turned" "\"transform_config\""
packed '"config_groups": {' '"config_groups": {"other": {"weights": {"num_bits": 8, "type": "int", "strategy": "channel"}}, '
refused "two kinds of weights" "more than one kind of weights"
