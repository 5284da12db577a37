#!/bin/sh
# solo convert and solo synth as a user types them. What is converted must have the same logits as before, here and
# in llama.cpp (where its libraries are: tests/oracle).
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
oracle=tests/oracle
tokens=1,17,42,5,99,3,128,77,64,23,150,8,31,90,111,2,7,45,60,12

fails() {
    name=$1 status=$2 part=$3
    shift 3
    "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -eq "$status" ] && grep -qF -- "$part" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ]; then
        echo "ok $name"
    else
        echo "not ok $name (exit $got, $(head -c 200 "$work/err"))"
    fi
}

# check NAME COMMAND...: ok if it succeeds; otherwise its output is printed
check() {
    what=$1
    shift
    if said=$("$@" 2>&1); then echo "ok $what"; else echo "not ok $what ($(echo "$said" | tail -n 1))"; fi
}

compare() { python3 $oracle/compare_logits.py "$@"; }

fails "convert without a file" 2 "OUT.gguf is missing" "$SOLO" convert somewhere
fails "convert to no type" 2 "q9_9" "$SOLO" convert somewhere out.gguf --type q9_9
fails "convert to a type that cannot be written" 2 "iq2_s" "$SOLO" convert somewhere out.gguf --type iq2_s
fails "convert a folder that is not there" 1 "/no/such" "$SOLO" convert /no/such "$work/x.gguf"
fails "synth without a file" 2 "OUT.gguf is missing" "$SOLO" synth llama-3-8b q4_0
fails "synth of an unknown model" 2 "gpt-9" "$SOLO" synth gpt-9 q4_0 "$work/x.gguf"
fails "synth of an unknown type" 2 "q9_9" "$SOLO" synth llama-3-8b q9_9 "$work/x.gguf"
fails "synth to a full disk" 1 "No space left" "$SOLO" synth qwen2.5-0.5b q4_0 /dev/full
for command in convert synth; do
    "$SOLO" $command --help | grep -q "usage: solo $command" && echo "ok help of $command" || echo "not ok help of $command"
done

# a disk that is full half way: as far as a limit on the size of files can play it
echo old >"$work/old.gguf"
(ulimit -f 20000; fails "a file that cannot grow" 1 "old.gguf: cannot write" \
    "$SOLO" synth qwen2.5-0.5b q4_0 "$work/old.gguf")
if [ "$(cat "$work/old.gguf")" = old ] && [ "$(find "$work" -maxdepth 1 -name '*gguf*' | wc -l)" -eq 1 ]; then
    echo "ok then nothing is left and nothing lost"
else
    echo "not ok then nothing is left and nothing lost ($(ls "$work"))"
fi

if ! command -v python3 >/dev/null; then
    echo "skip converting (no python3 here)"
    exit 0
fi

# llama FILE LIMIT: are llama.cpp's logits of FILE within LIMIT of solo's, which are in file.json?
llama() {
    python3 $oracle/llama_logits.py "$1" --tokens $tokens >"$work/oracle.json" &&
        compare "$work/file.json" "$work/oracle.json" "$2"
}
llama_here=$(cd bench && python3 -c 'import llama_cpp; print(llama_cpp.find_libraries())' 2>/dev/null)
[ -n "$llama_here" ] || echo "skip llama.cpp's logits (its libraries are not here)"

# same FOLDER TYPE FOLDER_LIMIT LLAMA_LIMIT: convert; logits as the folder's and as llama.cpp's
same() {
    name=$(basename "$1")
    file=$work/$name-$2.gguf
    if ! "$SOLO" convert "$1" "$file" --type "$2" >"$work/notes" 2>&1; then
        echo "not ok $name to $2 ($(cat "$work/notes"))"
        return
    fi
    "$SOLO" logits "$file" --tokens $tokens >"$work/file.json" 2>&1
    check "$name to $2: the folder's logits" compare "$work/folder-$name.json" "$work/file.json" "$3"
    [ -z "$llama_here" ] || check "$name to $2: llama.cpp's logits" llama "$file" "$4"
}

# llama.cpp's gelu comes from a table of halves, its q8_0 rounds the activations to 8 bits, its f16 to halves
for variant in llama llama-mlp mistral qwen2 qwen3 phi3 gemma gemma2; do
    python3 $oracle/make_folder.py $variant "$work/$variant"
    "$SOLO" logits "$work/$variant" --tokens $tokens >"$work/folder-$variant.json"
    case $variant in gemma*) limit=2e-3 ;; *) limit=2e-5 ;; esac
    same "$work/$variant" f32 2e-5 $limit
done
same "$work/llama" f16 5e-3 5e-3
same "$work/llama" q8_0 0.1 0.06

# more families, from transformers' own tiny models; llama.cpp does not know starcoder2's window of 5
all_tokens=$tokens
for folder in cohere-parallel cohere2-windows deepseek2-single deepseek3-groups deepseek3-yarn exaone4-full gemma3-old gemma4-experts gemma4-keys gemma4-small glm4-partial gpt-neox-parallel gpt2-usual \
    gpt-oss-blocks gpt-oss-turned granite-scales llama-yarn mixtral-single olmo2-rows olmo3-yarn phi-partial qwen2moe-shared qwen3moe-single qwen35-tiled qwen35moe-shared smollm3-skip stablelm-norms stablelm-partial stablelm-parallel starcoder2-window; do
    limit=2e-5 tokens=1,17,42,5,9,3,28,57,44,23,50,8,31,20
    case $folder in
    gpt-oss-blocks) limit=0.15 ;; # llama.cpp rounds what it multiplies by MXFP4 to 8 bits
    gpt-oss-turned) ;;
    gemma* | gpt* | phi*) limit=2e-3 ;;
    starcoder2*) limit=2e-3 tokens=1,17,42,5,9 ;;
    esac
    "$SOLO" logits tests/data/families/$folder --tokens $tokens >"$work/folder-$folder.json"
    same tests/data/families/$folder f32 2e-5 $limit
done
# a decoder inside of a model that also sees, by the older names and by the newer ones
inside() {
    python3 $oracle/wrap_folder.py tests/data/families/gemma3-local "$work/$1" "$2" "$3" &&
        "$SOLO" logits "$work/$1" --tokens $tokens >"$work/file.json" && cmp "$work/file.json" "$work/alone.json"
}
tokens=1,17,42,5,9,3,28,57
"$SOLO" logits tests/data/families/gemma3-local --tokens $tokens >"$work/alone.json"
check "a decoder inside of another model" inside older language_model.model. vision_tower.x
check "a decoder inside of another model, newer" inside newer model.language_model. model.vision_tower.x
fails "a tower that is not known" 1 "tensor audio_tower.x: a gemma3_text is not known to have it" sh -c \
    "python3 $oracle/wrap_folder.py tests/data/families/gemma3-local $work/odd-tower model. audio_tower.x && '$SOLO' logits $work/odd-tower --tokens 1"
# mixtures of experts, which come as GGUF
for name in deepseek2 deepseek2-older deepseek3 qwen3moe qwen2moe mixtral; do
    tokens=1,17,42,5,9,3,28,57,44,23,50,8,31,20 model=tests/data/experts/$name/model.gguf
    "$SOLO" logits $model --tokens $tokens >"$work/folder-$name.json"
    ln -s "$PWD/$model" "$work/$name"
    same "$work/$name" f32 2e-5 2e-5
done
# of these llama.cpp knows other numbers only, as convert says
for folder in gemma3n-small gemma3n-second cohere-norms; do
    "$SOLO" logits tests/data/families/$folder --tokens $tokens >"$work/folder-$folder.json"
    llama_there=$llama_here llama_here=
    same tests/data/families/$folder f32 2e-5
    llama_here=$llama_there
    grep -q "llama.cpp knows" "$work/notes" && echo "ok $folder: what llama.cpp does not know is said" ||
        echo "not ok $folder: what llama.cpp does not know is said ($(cat "$work/notes"))"
done
# a limit that the folder does not have: the file has none, either
mkdir "$work/uncapped" && cp tests/data/families/gemma3n-second/* "$work/uncapped"
sed 's/\("final_logit_softcapping": \)[0-9.]*/\1null/' tests/data/families/gemma3n-second/config.json >"$work/uncapped/config.json"
"$SOLO" logits "$work/uncapped" --tokens $tokens >"$work/folder-uncapped.json"
llama_there=$llama_here llama_here=
same "$work/uncapped" f32 1e-5
llama_here=$llama_there
# gate and up of an expert in one matrix, as llama.cpp's converter writes them
"$SOLO" logits tests/data/experts/gemma4/model.gguf --tokens $tokens >"$work/file.json"
[ -z "$llama_here" ] || check "gemma4's experts: llama.cpp's logits" llama tests/data/experts/gemma4/model.gguf 2e-3
tokens=$all_tokens
fails "weights of experts that GGUF cannot say" 1 "experts whose weights do not add up to 1" \
    "$SOLO" convert tests/data/families/qwen3moe-many "$work/x.gguf"
fails "an activation that GGUF cannot say" 1 "another activation function" "$SOLO" convert tests/data/families/gpt2-inner "$work/x.gguf"
fails "layers without rope that GGUF cannot say" 1 "rope in these layers only" \
    "$SOLO" convert tests/data/families/smollm3-list "$work/x.gguf"
"$SOLO" convert tests/data/families/olmo2-bias "$work/x.gguf" | grep -q "llama.cpp does not load a olmo2 with these biases" &&
    echo "ok what llama.cpp does not load is said" || echo "not ok what llama.cpp does not load is said"

mkdir "$work/yarn" && cp tests/data/families/llama-yarn/model.safetensors "$work/yarn/" &&
    sed 's/"factor": 4.0/"beta_fast": 8.0, "factor": 4.0/' tests/data/families/llama-yarn/config.json >"$work/yarn/config.json"
"$SOLO" convert "$work/yarn" "$work/x.gguf" | grep -q "llama.cpp takes yarn's beta_fast as 32" &&
    echo "ok yarn's bounds that llama.cpp does not read are said" || echo "not ok yarn's bounds that llama.cpp does not read are said"

# the K types and mixes of them: byte by byte what llama.cpp makes of the same file
python3 $oracle/make_folder.py wide "$work/wide"
"$SOLO" convert "$work/wide" "$work/wide.gguf" >/dev/null
if [ -n "$llama_here" ]; then
    for type in q4_k_m:15 q5_k_m:17 q6_k:18; do
        "$SOLO" convert "$work/wide.gguf" "$work/${type%:*}.gguf" --type "${type%:*}" >/dev/null
        check "${type%:*}: llama.cpp's bytes" python3 $oracle/compare_quantized.py "$work/wide.gguf" "$work/${type%:*}.gguf" "${type#*:}"
    done
fi
"$SOLO" logits "$work/wide" --tokens $tokens >"$work/folder-wide.json"
same "$work/wide" iq4_nl 0.6 0.1
same "$work/wide" mxfp4 0.9 0.1
same "$work/wide" q4_k_m 0.6 0.1

# a file in parts: any of them opens all, here as there, and it is converted to one file again
python3 $oracle/split_gguf.py "$work/llama-f32.gguf" "$work/parts" 9
last=$(find "$work" -name 'parts-*' | sort | tail -n 1)
"$SOLO" logits "$last" --tokens $tokens >"$work/file.json" 2>&1
check "a split file: the folder's logits" compare "$work/folder-llama.json" "$work/file.json" 2e-5
[ -z "$llama_here" ] || check "a split file: llama.cpp's logits" llama "$work/parts-00001-of-${last##*-of-}" 2e-5
"$SOLO" convert "$last" "$work/joined.gguf"
"$SOLO" convert "$work/llama-f32.gguf" "$work/copied.gguf"
check "a split file becomes one" cmp "$work/copied.gguf" "$work/joined.gguf"
rm "$work/parts-00002-of-${last##*-of-}"
fails "a part that is missing" 1 "part 2 of" "$SOLO" logits "$last" --tokens 1

measured() {
    python3 bench/llama.py "$work/llama-f32.gguf" --cpu --threads 1 -p 16 -n 4 -d 8 -r 2 >"$work/bench.json" && python3 -c '
import json, sys
record = json.load(open(sys.argv[1]))
results = record["results"]
assert [r["name"] for r in results] == ["pp16", "tg4"] * 2, results
assert all(len(r["samples"]) == 2 and min(r["samples"]) > 0 for r in results), results
assert all(len(r["greedy"]) == 4 for r in results if r["name"] == "tg4"), results
assert record["checks"] and all(c["ok"] for c in record["checks"]), record["checks"]' "$work/bench.json"
}
[ -z "$llama_here" ] || check "bench/llama.py measures" measured

# a GGUF file as the source, and the notes about types
python3 $oracle/make_folder.py odd "$work/odd"
"$SOLO" convert "$work/odd" "$work/odd.gguf" --type q4_0 >"$work/notes"
grep -q "what makes the logits is q8_0, not q4_0" "$work/notes" && grep -q "2 weights are f16, not q4_0" "$work/notes" &&
    echo "ok types that are not possible are reported" || echo "not ok types that are not possible are reported ($(cat "$work/notes"))"
"$SOLO" convert "$work/odd" "$work/odd-f32.gguf" >/dev/null
"$SOLO" convert "$work/odd-f32.gguf" "$work/odd-again.gguf" --type q4_0 >/dev/null
tail -c 60000 "$work/odd.gguf" >"$work/a"
tail -c 60000 "$work/odd-again.gguf" >"$work/b"
check "from GGUF as from the folder" cmp "$work/a" "$work/b"
fails "a file that has lost too much" 1 "is q4_0" "$SOLO" convert "$work/odd.gguf" "$work/x.gguf" --type q8_0
python3 $oracle/make_folder.py qwen2-window "$work/window"
fails "what GGUF cannot say" 1 "a qwen2 has windows" "$SOLO" convert "$work/window" "$work/x.gguf"
fails "a place that is not there" 1 "/no/such/x.gguf" "$SOLO" convert "$work/llama" /no/such/x.gguf
rm "$work/mistral/model-00002-of-00002.safetensors"
fails "a shard that is missing" 1 "model-00002" "$SOLO" convert "$work/mistral" "$work/x.gguf"
python3 $oracle/make_folder.py llama "$work/damaged"
bytes='"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}'
# refuses NAME PART TOKENIZER: as `solo tokenize` does, and with its words
refuses() {
    printf '%s' "$3" >"$work/damaged/tokenizer.json"
    fails "convert refuses $1" 1 "$2" "$SOLO" convert "$work/damaged" "$work/x.gguf"
}
model='"model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġa": 4}, "merges": ["Ġ a", "a b"]'
refuses "a token that the model has not" "token 299" \
    "{$bytes, \"added_tokens\": [{\"id\": 299, \"content\": \"x\"}], $model}}"
refuses "a normalizer" "'Lowercase' is not supported" "{$bytes, \"normalizer\": {\"type\": \"Lowercase\"}, $model}}"
refuses "dropout" "dropout" "{$bytes, $model, \"dropout\": 0.1}}"
refuses "two tokens with one id" "same id 3" "{$bytes, ${model%\"Ġa*} \"x\": 3}, \"merges\": []}}"
refuses "single words" "single words" "{$bytes, \"added_tokens\": [{\"id\": 5, \"content\": \"x\", \"single_word\": true}], $model}}"
refuses "ByteLevel without its pattern" "not known: bytes" \
    '{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}, '"$model}}"
# what the keys tokenizer.ggml.* do not say comes along
printf '%s' "{$bytes, \"normalizer\": {\"type\": \"NFC\"}, \"added_tokens\": [{\"id\": 5, \"content\": \"<t>\", \"lstrip\": true, \"rstrip\": true}, {\"id\": 6, \"content\": \"<t><t>\"}], $model}}" >"$work/damaged/tokenizer.json"
if "$SOLO" convert "$work/damaged" "$work/spaced.gguf" >"$work/notes" 2>&1 &&
    text='ab <t> <t><t>b a<t>' && ids=$(printf %s "$text" | "$SOLO" tokenize "$work/damaged") && [ -n "$ids" ] &&
    [ "$ids" = "$(printf %s "$text" | "$SOLO" tokenize "$work/spaced.gguf")" ] && [ "$(grep -c "llama.cpp" "$work/notes")" -eq 3 ]; then
    echo "ok spaces, forms and the order of added tokens come along"
else
    echo "not ok spaces, forms and the order of added tokens come along ($ids; $(cat "$work/notes"))"
fi

# the tokenizer that came along
printf 'the a user defined<s>' | "$SOLO" tokenize "$work/mistral-f32.gguf" >"$work/ids"
[ "$(cat "$work/ids")" = "96 68 95 94 99 97" ] && echo "ok the tokenizer came along" ||
    echo "not ok the tokenizer came along ($(cat "$work/ids"))"

# BOS as in the folder: said, said by the post-processor, or not said; and once, where the template writes it itself
python3 - "$work/mistral/tokenizer.json" "$work/llama" <<'END'
import json, os, sys
tokenizer, llama = json.load(open(sys.argv[1])), sys.argv[2]
pattern = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
           r"\s*[\r\n]+|\s+(?!\S)|\s+")
tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}]}
post = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [97], "tokens": ["<s>"]}}}
for name, said, processor, template in [
        ("unsaid", {}, None, "th"), ("yes", {"add_bos_token": True}, None, "th"), ("no", {"add_bos_token": False}, post, "th"),
        ("post", {}, post, "th"), ("own", {"add_bos_token": True}, post, "{{ bos_token }}th")]:
    folder = f"{llama}-bos-{name}"
    os.makedirs(folder, exist_ok=True)
    for file in ("config.json", "model.safetensors"):
        os.symlink(f"{llama}/{file}", f"{folder}/{file}")
    json.dump({**tokenizer, "post_processor": processor}, open(f"{folder}/tokenizer.json", "w"))
    json.dump({"bos_token": "<s>", "eos_token": "</s>", "chat_template": template + "{{ messages[0].content }}", **said},
              open(f"{folder}/tokenizer_config.json", "w"))
END
for case in "unsaid 96 65" "yes 97 96 65" "no 96 65" "post 97 96 65" "own 97 96 65"; do
    name=${case%% *} right=${case#* }
    "$SOLO" convert "$work/llama-bos-$name" "$work/bos.gguf" >"$work/notes" 2>&1
    got=$(printf 'b\0' | "$SOLO" tokenize "$work/llama-bos-$name" -0 --chat 2>&1)/$(printf 'b\0' | "$SOLO" tokenize "$work/bos.gguf" -0 --chat 2>&1)
    [ "$got" = "$right/$right" ] && echo "ok BOS: $name" || echo "not ok BOS: $name ($got, not $right; $(cat "$work/notes"))"
done

# a whole model that is made up: runs, and is the same each time
"$SOLO" synth qwen2.5-0.5b q4_0 "$work/synth.gguf" >/dev/null
first=$(sha256sum <"$work/synth.gguf")
"$SOLO" synth qwen2.5-0.5b q4_0 "$work/synth.gguf" >/dev/null
[ "$first" = "$(sha256sum <"$work/synth.gguf")" ] && echo "ok synth is the same each time" || echo "not ok synth is the same each time"
[ "$(echo "The cat sat." | "$SOLO" tokenize "$work/synth.gguf" | wc -w)" -ge 8 ] &&
    echo "ok synth's tokenizer" || echo "not ok synth's tokenizer"

if [ ! -d ../shared/models/hf ]; then
    echo "skip models that transformers made (no ../shared here)"
    exit 0
fi
for folder in ../shared/models/hf/*; do
    limit=2e-5 all_tokens=$tokens
    case $folder in
    */gemma*) limit=2e-3 ;;
    */mistral) tokens=1,17,42,5,99,3,128,77,64,23 ;; # llama.cpp does not know its window
    esac
    "$SOLO" logits "$folder" --tokens $tokens >"$work/folder-$(basename "$folder").json"
    same "$folder" f32 2e-5 $limit
    same "$folder" f16 5e-3 5e-3
    same "$folder" q8_0 0.1 0.06
    tokens=$all_tokens
done
