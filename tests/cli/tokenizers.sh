#!/bin/sh
# solo tokenize on Hugging Face folders: what it says of bad ones, and, where the packages are installed, the same
# tokens as Hugging Face's own tokenizers.
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
solo=${SOLO:-build/solo}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# refuses NAME WORD [TOKENIZER_JSON] : one line on stderr that has WORD and names the file
refuses() {
    mkdir -p "$work/$1"
    [ $# -lt 3 ] || printf '%s' "$3" >"$work/$1/tokenizer.json"
    echo x | "$solo" tokenize "$work/$1" >"$work/out" 2>"$work/errors"
    status=$?
    if [ $status -eq 1 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/errors")" -eq 1 ] && grep -qF -- "$2" "$work/errors" &&
        grep -qF "$work/$1" "$work/errors"; then
        echo "ok $1"
    else
        echo "not ok $1 exit status $status: $(head -c 300 "$work/errors")"
    fi
}

bytes='"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"use_regex":true}'
model='"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}'
refuses no_tokenizer_json "no tokenizer.json"
refuses not_json "not JSON" '{"model":'
refuses not_an_object "JSON object" '[1]'
refuses no_model '"model"' '{}'
refuses word_level "WordLevel" '{"model":{"type":"WordLevel"}}'
bert='"pre_tokenizer":{"type":"BertPreTokenizer"},"normalizer":{"type":"BertNormalizer"}'
refuses wordpiece_normalizer "normalizer 'Lowercase'" '{"normalizer":{"type":"Lowercase"},"model":{"type":"WordPiece"}}'
refuses wordpiece_cutting "pre-tokenizer 'Whitespace'" '{"normalizer":{"type":"BertNormalizer"},"pre_tokenizer":{"type":"Whitespace"},"model":{"type":"WordPiece"}}'
refuses wordpiece_unknown "unknown words" "{$bert,"'"model":{"type":"WordPiece","vocab":{"a":0}}}'
refuses wordpiece_prefix "continuing_subword_prefix" "{$bert,"'"model":{"type":"WordPiece","continuing_subword_prefix":7,"vocab":{"a":0}}}'
marked='"pre_tokenizer":{"type":"Metaspace","replacement":"▁"}'
refuses unigram_without_marks "U+2581" '{"model":{"type":"Unigram"}}'
refuses unigram_vocab "list" "{$marked,"'"model":{"type":"Unigram","vocab":{"a":0}}}'
refuses unigram_pair "token 1" "{$marked,"'"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0],["b"]]}}'
refuses unigram_unknown "unk_id" "{$marked,"'"model":{"type":"Unigram","unk_id":1,"vocab":[["a",0]]}}'
refuses unigram_map "cut or damaged" '{"normalizer":{"type":"Precompiled","precompiled_charsmap":"////"},'"$marked,"'"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0]]}}'
refuses unigram_base64 "base64" '{"normalizer":{"type":"Precompiled","precompiled_charsmap":"a b"},'"$marked,"'"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0]]}}'
refuses unigram_order "'Precompiled'" '{"normalizer":{"type":"Sequence","normalizers":[{"type":"Strip"},{"type":"Precompiled","precompiled_charsmap":""}]},'"$marked,"'"model":{"type":"Unigram","unk_id":0,"vocab":[["a",0]]}}'
refuses unknown_pattern 'not known: \p{L}+' '{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"\\p{L}+"},"behavior":"Isolated","invert":false},{"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]},'"$model}"
refuses unknown_normalizer "Lowercase" '{"normalizer":{"type":"Lowercase"},'"$bytes,$model}"
refuses unknown_pre_tokenizer "BertPreTokenizer" '{"pre_tokenizer":{"type":"BertPreTokenizer"},'"$model}"
refuses id_too_large "4000000000" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":4000000000},"merges":[]}}'
refuses id_negative "whole number" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":-1},"merges":[]}}'
refuses id_twice "same id 0" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}}'
refuses no_merges "merges" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":0}}}'
refuses bad_merge "merge 0" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}}'
refuses merge_of_nothing "merge 0 is of or into a token that is not in the vocabulary: 'c'" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":0,"ac":1},"merges":["a c"]}}'
refuses merge_into_nothing "not in the vocabulary: 'ab'" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":0,"b":1},"merges":["a b"]}}'
refuses key_twice "duplicate object key" '{'"$bytes"',"model":{"type":"BPE","vocab":{"a":0,"a":1},"merges":[]}}'
refuses empty_vocabulary "empty" '{'"$bytes"',"model":{"type":"BPE","vocab":{},"merges":[]}}'
refuses added_without_text "content" '{"added_tokens":[{"id":5}],'"$bytes,$model}"
mkdir "$work/bad_config"
echo '{' >"$work/bad_config/tokenizer_config.json"
refuses bad_config "tokenizer_config.json: not JSON" "{$bytes,$model}"

# expect NAME IDS TEXT OPTIONS : of the folder `small`
expect() {
    got=$(printf '%s' "$3" | "$solo" tokenize "$work/small" ${4:+"$4"} 2>&1)
    if [ "$got" = "$2" ]; then echo "ok $1"; else echo "not ok $1 '$got', not '$2'"; fi
}
mkdir "$work/small"
echo "{\"added_tokens\":[{\"id\":3,\"content\":\"<s>\",\"special\":true},{\"id\":4,\"content\":\"<t>\",\"special\":false}],$bytes,$model}" >"$work/small/tokenizer.json"
echo '{"bos_token":{"content":"<s>"},"model_max_length":1000000000000000019884624838656}' >"$work/small/tokenizer_config.json"
expect small '2 0 3 2' 'aba<s>ab'
expect small_bos '3 2' 'ab' --bos
expect small_plain '2 4' 'ab<s><t>' --plain

if [ -e node_modules/tokenizers/package.json ] && node -e 'require("tokenizers")' 2>/dev/null; then
    node tests/oracle/tokenizers.mjs "$solo" "$work"
    node tests/oracle/chat.mjs "$solo" "$work"
else
    echo "skip tokenizers (Hugging Face's are not installed)"
fi
