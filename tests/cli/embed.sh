#!/bin/sh
# solo embed as a user types it: texts from everywhere, sentence-transformers' vectors, levels, what is refused; and
# llama.cpp's vectors and tokens, where its libraries are.
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
solo=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
models=tests/data/embeddings
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

say() { # NAME WHETHER WHY
    if [ "$2" = 0 ]; then echo "ok $1"; else echo "not ok $1 ($3)"; fi
}

same() { # NAME FILE FILE
    if [ -s "$2" ] && cmp -s "$2" "$3"; then echo "ok $1"; else echo "not ok $1 (they differ, or there is nothing)"; fi
}

refused() { # NAME STATUS WORDS COMMAND... : one line on stderr that has the words, nothing on stdout
    name=$1 wanted=$2 words=$3
    shift 3
    "$@" </dev/null >"$work/out" 2>"$work/err"
    status=$?
    if [ $status = "$wanted" ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qF -- "$words" "$work/err"; then
        echo "ok $name"
    else
        echo "not ok $name (status $status: $(head -c 200 "$work/err"))"
    fi
}

# The texts of a golden.json, given one by one, have the vectors that stand there.
cat >"$work/golden.mjs" <<'END'
import { readFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
const [solo, folder, ...more] = process.argv.slice(2);
const { encoded } = JSON.parse(readFileSync(`${folder}/golden.json`));
const run = spawnSync(solo, ["embed", folder, "--json", "-", ...more, ...encoded.flatMap(({ text }) => ["-p", text])]);
if (run.status !== 0) throw new Error(run.stderr.toString().trim());
const { texts, n_embd, pooling } = JSON.parse(run.stdout);
const length = (v) => Math.hypot(...v);
const worst = Math.max(...encoded.map(({ embedding, tokens }, i) => texts[i].tokens === tokens.length && texts[i].embedding.length === n_embd
    ? length(embedding.map((v, k) => v - texts[i].embedding[k])) / length(embedding) : Infinity));
if (!(worst < 1e-4) || texts.length !== encoded.length || !pooling) throw new Error(`off by ${worst}`);
END
for name in bert-mean nomic-mean xlm-roberta-mean qwen3-last; do
    said=$(node "$work/golden.mjs" "$solo" $models/$name 2>&1)
    say "sentence-transformers' vectors: $name" $? "$(echo "$said" | grep -m 1 Error)"
done
for level in none token; do
    said=$(node "$work/golden.mjs" "$solo" $models/bert-mean --fuse $level 2>&1)
    say "the same at the level $level" $? "$(echo "$said" | grep -m 1 Error)"
done

bert=$models/bert-mean
printf 'the fox\nhello\n' >"$work/lines"
printf 'the fox\0hello\0' >"$work/zeros"
"$solo" embed $bert -p 'the fox' -p hello >"$work/given"
"$solo" embed $bert -f "$work/lines" >"$work/got"
same "lines of a file" "$work/given" "$work/got"
"$solo" embed $bert <"$work/lines" >"$work/got"
same "lines of standard input" "$work/given" "$work/got"
printf 'the fox\r\nhello\r\n' | "$solo" embed $bert >"$work/got"
same "lines that end in CR LF" "$work/given" "$work/got"
"$solo" embed -0 $bert <"$work/zeros" >"$work/got"
same "texts that end with a zero byte" "$work/given" "$work/got"
"$solo" embed $bert --pooling=mean --normalize=on <"$work/lines" >"$work/got"
same "what the files say, said again" "$work/given" "$work/got"
"$solo" embed $bert -p 'the fox' --pooling none >"$work/got"
[ "$(wc -l <"$work/got")" = 4 ]
say "without pooling, a vector for each token" $? "$(wc -l <"$work/got") of 4"
head -n 1 "$work/got" >"$work/first"
"$solo" embed $bert -p 'the fox' --pooling cls --normalize off >"$work/cls"
same "the first token's is the first of those" "$work/first" "$work/cls"
"$solo" embed $bert -p 'the fox' --json "$work/file.json" >"$work/out" && [ ! -s "$work/out" ] && grep -q '"embedding"' "$work/file.json"
say "JSON into a file, and nothing else" $? "no"

refused "no text" 2 "a text (-p)" "$solo" embed $bert
refused "a text and a file" 2 "only one" "$solo" embed $bert -p a -f "$work/lines"
refused "another pooling" 2 "--pooling" "$solo" embed $bert -p a --pooling max
refused "an empty file" 2 "no text" "$solo" embed $bert -f /dev/null
refused "too long a text" 1 "text 2: a text has 62 tokens" "$solo" embed $bert -p a -p "$(printf 'a %.0s' $(seq 60))"
refused "a decoder that says no pooling" 1 "--pooling" "$solo" embed -p a
refused "text from an encoder" 1 "embeddings (solo embed), not text" "$solo" run $bert -p a
refused "logits of an encoder" 1 "embeddings (solo embed), not text" "$solo" logits $bert --tokens 5
"$solo" embed -p 'Once upon a time' --pooling last >"$work/got" 2>"$work/err"
say "a decoder that is told how" $? "$(head -c 200 "$work/err")"

# what folders may ask for
change() { # NAME FILE OLD NEW : a copy of the folder in which a file says something else
    cp -r $bert "$work/$1"
    sed "s|$3|$4|" "$bert/$2" >"$work/$1/$2"
}
change max 1_Pooling/config.json '"pooling_mode_max_tokens": false' '"pooling_mode_max_tokens": true'
refused "two ways to pool" 1 "pooling other than" "$solo" embed "$work/max" -p a
change module modules.json 'models.Normalize' 'models.LSTM'
refused "another module" 1 "models.LSTM is not supported" "$solo" embed "$work/module" -p a
change outside modules.json '"1_Pooling"' '"../1_Pooling"'
refused "a module outside" 1 "must be a folder in it" "$solo" embed "$work/outside" -p a
change broken modules.json '\[' '{'
refused "modules that are no JSON" 1 "modules.json: not JSON" "$solo" embed "$work/broken" -p a
change relative config.json '"model_type"' '"position_embedding_type": "relative_key", "model_type"'
refused "relative positions" 1 "position_embedding_type" "$solo" embed "$work/relative" -p a
change causal config.json '"is_decoder": false' '"is_decoder": true'
refused "an encoder that is a decoder" 1 "is_decoder" "$solo" embed "$work/causal" -p a

if (cd bench && python3 -c 'import llama_cpp; llama_cpp.find_libraries()') 2>/dev/null; then
    for name in bert nomic qwen3 gemma; do # its products round activations to f16
        said=$(python3 tests/oracle/llama_embeddings.py $models/$name-gguf 5e-3 2>&1)
        say "llama.cpp's vectors: $name" $? "$(echo "$said" | tail -n 1)"
    done
    said=$(python3 tests/oracle/llama_tokens.py $models/bert-gguf/model.gguf 300 "$solo" 2>&1)
    say "llama.cpp's tokens" $? "$(echo "$said" | head -n 1)"
else
    echo "skip llama.cpp's vectors (its libraries are not here)"
fi
