#!/bin/sh
# Weights that are not finite: no answer is made of them, and no file; what looks for them names the tensor and the row.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if ! command -v python3 >/dev/null; then
    echo "skip weights that are not finite (no python3 here)"
    exit 0
fi

# fails NAME PART COMMAND...: one line with PART, nothing on standard output but the prompt, exit status 1
fails() {
    name=$1 part=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    if [ $got -eq 1 ] && grep -qF -- "$part" "$work/err" && [ "$(grep -c '^solo: ' "$work/err")" -eq 1 ] && [ "$(tr -d "a\n" <"$work/out" | wc -c)" -eq 0 ]; then
        echo "ok $name"
    else
        echo "not ok $name (exit $got, $(head -c 200 "$work/err"))"
    fi
}

# damage FILE TENSOR NUMBER VALUE: sets one f32 of a .safetensors file
damage() {
    python3 - "$@" <<'END'
import json, struct, sys
path, tensor, number, value = sys.argv[1:]
data = bytearray(open(path, "rb").read())
size = struct.unpack_from("<Q", data)[0]
begin = json.loads(data[8:8 + size])[tensor]["data_offsets"][0]
struct.pack_into("<f", data, 8 + size + begin + 4 * int(number), float(value))
open(path, "wb").write(data)
END
}

python3 tests/oracle/make_folder.py llama "$work/good" || exit 1
"$SOLO" logits "$work/good" --tokens 1,2,3 --check-tensors >/dev/null 2>"$work/err" && echo "ok good weights pass" ||
    echo "not ok good weights pass ($(cat "$work/err"))"
width=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["hidden_size"])' "$work/good/config.json")
for value in nan inf; do
    cp -r "$work/good" "$work/$value"
    damage "$work/$value/model.safetensors" model.layers.1.mlp.up_proj.weight $((5 * width + 3)) $value
    fails "$value: logits" "the logits after token 0 are not finite" "$SOLO" logits "$work/$value" --tokens 1,2,3
    fails "$value: --check-tensors" "tensor blk.1.ffn_up.weight: row 5 has a number that is not finite" \
        "$SOLO" logits "$work/$value" --tokens 1 --check-tensors
    for type in f32 q8_0 q4_0 f16; do
        fails "$value: convert to $type" "tensor blk.1.ffn_up.weight: row 5 has a number that is not finite" \
            "$SOLO" convert "$work/$value" "$work/x.gguf" --type $type
    done
done
cp -r "$work/good" "$work/large"
damage "$work/large/model.safetensors" model.layers.1.mlp.up_proj.weight $((5 * width + 3)) 1e38
fails "a number too large for 8 bits" "row 5 has numbers too large for q8_0" "$SOLO" convert "$work/large" "$work/x.gguf" --type q8_0
fails "a number too large for 4 bits" "row 5 has numbers too large for q4_0" "$SOLO" convert "$work/large" "$work/x.gguf" --type q4_0

# a model that makes embeddings is looked at as well
cp -r tests/data/embeddings/bert-mean "$work/bert"
"$SOLO" embed "$work/bert" -p a --check-tensors >/dev/null 2>"$work/err" && echo "ok good weights of an encoder pass" ||
    echo "not ok good weights of an encoder pass ($(cat "$work/err"))"
damage "$work/bert/model.safetensors" encoder.layer.0.intermediate.dense.bias 3 nan
fails "nan: embed --check-tensors" "ffn_up.bias: row 0 has a number that is not finite" "$SOLO" embed "$work/bert" -p a --check-tensors

# a generation ends with one line, at every level, whatever the token is chosen by
python3 tests/cli/make_bigram.py "$work/bigram" || exit 1
damage "$work/bigram/model.safetensors" lm_head.weight 77 nan
for how in "ops --temp 0" "ops --temp 1" "loop --temp 0" "token --temp 1 --top-k 3"; do
    # shellcheck disable=SC2086
    fails "nan: run --fuse $how" "logits are not finite" "$SOLO" run "$work/bigram" -p a -n 4 --fuse $how
done
