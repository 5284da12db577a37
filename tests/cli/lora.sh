#!/bin/sh
# LoRA adapters, merged at load: the logits of a folder in which they were merged elsewhere, and llama.cpp's (where its
# libraries are: tests/oracle); and what is refused.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
if ! command -v python3 >/dev/null; then
    echo "skip LoRA adapters (no python3 here)"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
oracle=tests/oracle
tokens=1,17,42,5,99,3,128,77,64,23

check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then echo "ok $what"; else echo "not ok $what ($(echo "$said" | tail -n 1))"; fi
}

refused() {
    what=$1 part=$2
    shift 2
    if "$@" >"$work/out" 2>"$work/err" || ! grep -qF -- "$part" "$work/err" || [ "$(wc -l <"$work/err")" -ne 1 ]; then
        echo "not ok $what ($(head -c 200 "$work/err"))"
    else
        echo "ok $what"
    fi
}

same() { # WHAT LIMIT MODEL LORA
    "$SOLO" logits "$3" --lora "$4" --tokens $tokens >"$work/got.json" 2>"$work/err" || cat "$work/err"
    check "$1" python3 $oracle/compare_logits.py "$work/merged.json" "$work/got.json" "$2"
}

python3 $oracle/make_folder.py llama "$work/llama"
python3 $oracle/make_lora.py "$work/llama" "$work/lora"
"$SOLO" convert "$work/llama" "$work/llama.gguf" >/dev/null
"$SOLO" convert "$work/llama" "$work/half.gguf" --type f16 >/dev/null
"$SOLO" logits "$work/lora/merged" --tokens $tokens >"$work/merged.json"
same "a PEFT folder on a folder" 2e-5 "$work/llama" "$work/lora/peft:2"
same "a PEFT folder on a GGUF file" 2e-5 "$work/llama.gguf" "$work/lora/peft:2"
same "a GGUF adapter on a folder" 2e-5 "$work/llama" "$work/lora/adapter.gguf:2"
same "a GGUF adapter on a GGUF file" 2e-5 "$work/llama.gguf" "$work/lora/adapter.gguf:2"
same "an adapter on weights of f16" 5e-3 "$work/half.gguf" "$work/lora/adapter.gguf:2"
"$SOLO" logits "$work/llama" --lora "$work/lora/peft" --lora "$work/lora/peft" --tokens $tokens >"$work/got.json"
check "twice at its own strength is once at twice that" python3 $oracle/compare_logits.py "$work/merged.json" "$work/got.json" 2e-5
if (cd bench && python3 -c 'import llama_cpp; llama_cpp.find_libraries()') 2>/dev/null; then
    python3 $oracle/llama_logits.py "$work/llama.gguf" --tokens $tokens --lora "$work/lora/adapter.gguf:2" >"$work/got.json"
    check "llama.cpp's logits with the adapter" python3 $oracle/compare_logits.py "$work/merged.json" "$work/got.json" 5e-4
else
    echo "skip llama.cpp's logits (its libraries are not here)"
fi

# each weight's own alpha, by any end of its name; ranks are those of the matrices
cp -r "$work/lora/peft" "$work/patterns"
patterns() { # the alphas, in JSON
    python3 -c 'import json, sys
config = json.load(open(sys.argv[1]))
config |= {"lora_alpha": 3.0, "rank_pattern": {"q_proj": 4}, "alpha_pattern": json.loads(sys.argv[3])}
json.dump(config, open(sys.argv[2], "w"))' "$work/lora/peft/adapter_config.json" "$work/patterns/adapter_config.json" "$1"
}
patterns '{"q_proj": 6, "self_attn.k_proj": 6, "model.layers.0.self_attn.v_proj": 6, "layers.1.self_attn.v_proj": 6,
           "o_proj": 6, "gate_proj": 6, "down_proj": 6, "proj": 99}'
same "an alpha of its own for each" 2e-5 "$work/llama" "$work/patterns:2"
same "the same on a GGUF file" 2e-5 "$work/llama.gguf" "$work/patterns:2"
patterns '{".*": 6}'
refused "an alpha by a pattern" "\"alpha_pattern\" other than names" "$SOLO" logits "$work/llama" --lora "$work/patterns" --tokens 1

python3 $oracle/make_folder.py wide "$work/wide"
python3 $oracle/make_folder.py qwen2 "$work/qwen2"
"$SOLO" convert "$work/qwen2" "$work/qwen2.gguf" >/dev/null
refused "an adapter of another size" "do not fit" "$SOLO" logits "$work/wide" --lora "$work/lora/peft" --tokens 1
refused "an adapter of another architecture" "is for a llama" "$SOLO" logits "$work/qwen2.gguf" --lora "$work/lora/adapter.gguf" --tokens 1
refused "a model as an adapter" "is no LoRA adapter" "$SOLO" logits "$work/llama" --lora "$work/llama.gguf" --tokens 1
refused "an adapter that is not there" "/no/such" "$SOLO" logits "$work/llama" --lora /no/such --tokens 1
cp -r "$work/lora/peft" "$work/odd"
sed -i 's/"use_dora": false/"use_dora": true/' "$work/odd/adapter_config.json"
refused "what PEFT can do and Solo cannot" "use_dora" "$SOLO" logits "$work/llama" --lora "$work/odd" --tokens 1
option() { # WHAT WORDS TEXT: one option of PEFT is this
    sed "s/^{/{$3, /" "$work/lora/peft/adapter_config.json" >"$work/odd/adapter_config.json"
    refused "$1" "$2" "$SOLO" logits "$work/llama" --lora "$work/odd" --tokens 1
}
option "weights that PEFT changed first" "init_lora_weights" '"init_lora_weights": "pissa_niter_4"'
option "an adapter for a part of the text" "alora_invocation_tokens" '"alora_invocation_tokens": [1, 2]'
sed 's/"use_rslora": false/"use_rslora": 1/' "$work/lora/peft/adapter_config.json" >"$work/odd/adapter_config.json"
refused "a scale that is no yes or no" '"use_rslora" must be' "$SOLO" logits "$work/llama" --lora "$work/odd" --tokens 1
sed 's/"r": [0-9]*/"r": 64/' "$work/lora/peft/adapter_config.json" >"$work/odd/adapter_config.json"
refused "another rank than the matrices have" 'has the rank 64, and its matrices have' "$SOLO" logits "$work/llama" --lora "$work/odd" --tokens 1
sed 's/"lora_alpha": [0-9.]*/"lora_alpha": "x"/' "$work/lora/peft/adapter_config.json" >"$work/odd/adapter_config.json"
refused "a strength that is no number" '"lora_alpha" must be a number' "$SOLO" logits "$work/llama" --lora "$work/odd" --tokens 1
cp "$work/lora/peft/adapter_config.json" "$work/odd/"
sed -i 's/layers\.1\.self_attn.v_proj/layers.9.self_attn.v_proj/g' "$work/odd/adapter_model.safetensors"
refused "a layer that the model has not" "are for no weight" "$SOLO" logits "$work/llama" --lora "$work/odd" --tokens 1
