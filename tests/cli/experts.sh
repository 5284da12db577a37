#!/bin/sh
# Folders with experts that are damaged, or lie about them, are refused with one line.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
    echo "skip damaged folders (no python3 here)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# damage FOLDER PYTHON: a copy whose tensors' descriptions `t`, and configuration `c`, a line of Python has changed
damage() {
    rm -rf "$work/folder"
    cp -r "tests/data/families/$1" "$work/folder"
    python3 - "$work/folder" "$2" <<'END'
import json, struct, sys
folder, change = sys.argv[1:]
with open(f"{folder}/model.safetensors", "rb") as f:
    length, = struct.unpack("<Q", f.read(8))
    t, data = json.loads(f.read(length)), f.read()
with open(f"{folder}/config.json") as f:
    c = json.load(f)
L = "model.layers.1.mlp.experts."
exec(change)
text = json.dumps(t).encode()
with open(f"{folder}/model.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data)
with open(f"{folder}/config.json", "w") as f:
    json.dump(c, f)
END
}

refused() { # WHAT PART FOLDER CHANGE
    damage "$3" "$4"
    if "$SOLO" logits "$work/folder" --tokens 1,2,3 >"$work/out" 2>"$work/err" || ! grep -qF -- "$2" "$work/err" ||
        [ "$(wc -l <"$work/err")" -ne 1 ]; then
        echo "not ok $1 ($(head -c 300 "$work/err"))"
    else
        echo "ok $1"
    fi
}

one=qwen3moe-single all=qwen2moe-shared oss=gpt-oss-turned blocks=gpt-oss-blocks
refused "an expert is missing" "tensor model.layers.1.mlp.experts.4.up_proj.weight is missing" $one \
    't["x.4.up_proj.weight"] = t.pop(L + "4.up_proj.weight")'
refused "an expert of another shape" "experts.4.up_proj.weight is BF16 [7, 72], and should be [14, 36]" $one \
    't[L + "4.up_proj.weight"]["shape"] = [7, 72]'
refused "an expert of another type" "experts.4.up_proj.weight is U16, which is not supported here" $one \
    't[L + "4.up_proj.weight"]["dtype"] = "U16"'
refused "one expert of another type than the others" "experts.1.up_proj.weight is F16, and the same of other numbers is not" $one \
    't[L + "1.up_proj.weight"]["dtype"] = "F16"'
refused "more experts than there are" "tensor model.layers.0.mlp.experts.7.gate_proj.weight is missing" $one \
    'c["num_experts"] = 8; c["num_local_experts"] = 8'
refused "fewer experts than there are" "ffn_gate_inp.weight is 7 x 36 and should be 6 x 36" $one \
    'c["num_experts"] = 6; c["num_local_experts"] = 6'
refused "more experts for a token than there are" '"num_experts_per_tok" is 9, must be 1 to' $one 'c["num_experts_per_tok"] = 9'
refused "no experts" '"num_local_experts" is 0' $oss 'c["num_local_experts"] = 0'
refused "a tensor for all experts of another shape" "experts.gate_up_proj is F16 [5, 18, 72], and should be [5, 36, 36]" $all \
    't[L + "gate_up_proj"]["shape"] = [5, 18, 72]'
refused "a tensor for all experts is missing" "tensor model.layers.1.mlp.experts.down_proj is missing" $all \
    't["x"] = t.pop(L + "down_proj")'
refused "biases of experts are missing" "tensor model.layers.1.mlp.experts.down_proj_bias is missing" $oss \
    't["x"] = t.pop(L + "down_proj_bias")'
refused "scales of blocks are missing" "tensor model.layers.1.mlp.experts.down_proj_scales is missing" $blocks \
    't["x"] = t.pop(L + "down_proj_scales")'
refused "blocks of another shape" "gate_up_proj_blocks is U8 [4, 64, 1, 32], and should be" $blocks \
    't[L + "gate_up_proj_blocks"]["shape"] = [4, 64, 1, 32]'
refused "a limit of another gate" '"swiglu_limit": another number than usual is not supported' $oss 'c["swiglu_limit"] = 5.0'
refused "a layer without experts" '"mlp_only_layers": a layer without experts is not supported' $one 'c["mlp_only_layers"] = [1]'
refused "sinks are missing" "blk.1.attn_sinks.weight is missing" $oss 't["x"] = t.pop("model.layers.1.self_attn.sinks")'
