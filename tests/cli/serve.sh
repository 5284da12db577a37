#!/bin/sh
# solo serve: OpenAI's API, by plain requests, by the openai packages of npm and PyPI, and by curl.
set -u
cd "$(dirname "$0")/../.." || exit 1
SOLO=${SOLO:-$PWD/build/solo}
work=$(mktemp -d) || exit 1
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT

check() { if [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1: '$2' instead of '$3'"; fi; }

# start ARGUMENT...: a server; its address is in $url
start() {
    : >"$work/out"
    "$SOLO" serve --port 0 --finish 20 "$@" >"$work/out" 2>"$work/log" &
    server=$!
    while kill -0 "$server" 2>/dev/null && [ ! -s "$work/out" ]; do sleep 0.1; done
    url=$(cat "$work/out")
}
# stop NAME: ends it, and checks that it ends well
stop() {
    kill "$server"
    wait "$server"
    check "$1" $? 0
    server=
}

printf 'first-key\nsecond-key\n' >"$work/keys"
start -c 384 --parallel 2 --queue 3 --api-key-file "$work/keys" --log-json --body-limit 256 --allow-origin https://page.example
if grep -q libmicrohttpd "$work/log"; then
    echo "skip solo serve: $(cat "$work/log")"
    exit 0
fi
SOLO_KEY=second-key node tests/cli/serve_completions.mjs "$url" || echo "not ok serve_completions ended early"
node tests/cli/serve_refusals.mjs "$url" second-key || echo "not ok serve_refusals ended early"
check "curl" "$(curl -s -N "${url}v1/completions" -H 'Authorization: Bearer first-key' -H 'Content-Type: application/json' \
    -d '{"prompt": "Once", "max_tokens": 2, "temperature": 0, "stream": true}' | grep -c '^data: ')" 4
node tests/cli/serve_end.mjs "$url" first-key "$server" || echo "not ok serve_end ended early"
wait "$server"
check "it ends when running requests are answered" $? 0
server=
check "every line of the log is JSON" "$(node -e '
    const lines = require("fs").readFileSync(process.argv[1], "utf8").trim().split("\n");
    console.log(lines.length > 50 && lines.map((l) => JSON.parse(l)).every((l) => l.status && l.path && l.address));' "$work/log" 2>&1)" true
check "the log says which tokens were waited for one by one" "$(grep -c '"stepped_tokens": [1-9]' "$work/log" | sed 's/^[1-9][0-9]*$/some/')" some
check "no text is in the log" "$(grep -c 'Once upon' "$work/log")" 0

python3 tests/cli/make_bigram.py "$work/bigram"
cat >"$work/chat.jinja" <<'END'
{%- for t in tools or [] -%}[{{ t.function.name }}]{%- endfor -%}
{%- for m in messages -%}<{{ m.role }}>{{ m.content }}
{%- for c in m.tool_calls or [] -%}({{ c.function.name }}){%- endfor -%}{%- endfor -%}
{{- '<|result|>' if messages[-1].role == 'tool' else '<|ask|>' if tools else '<|muse|>' if enable_thinking is true else '<|say|>' -}}
END
start "$work/bigram" --parallel 1 --name parrot --template "$work/chat.jinja" --quiet
node tests/cli/serve_chat.mjs "$url" || echo "not ok serve_chat ended early"
if python3 -c 'import openai' 2>/dev/null; then
    python3 tests/cli/serve_client.py "$url" || echo "not ok serve_client ended early"
else
    echo "skip the openai package of PyPI (it is not here)"
fi
stop "it ends when told to"
echo '{#- <tool_call> -#}' >>"$work/chat.jinja"
start "$work/bigram" --parallel 2 --name parrot --template "$work/chat.jinja" --quiet
node tests/cli/serve_chat.mjs "$url" >"$work/said" || echo "not ok serve_chat ended early"
sed 's/$/ (two at a time, calls between tags)/' "$work/said"
stop "another ends"
check "quiet" "$(cat "$work/log")" ""

start tests/data/embeddings/bert-mean --quiet
"$SOLO" embed tests/data/embeddings/bert-mean -p 'the fox' -p hello --json "$work/vectors.json" 2>/dev/null
node tests/cli/serve_embed.mjs "$url" "$work/vectors.json" || echo "not ok serve_embed ended early"
stop "a server of embeddings ends"
check "a context that does not fit is one line" "$(SOLO_GPU_MEMORY=2000000000 timeout 60 "$SOLO" serve --port 0 -c 16777216 2>&1 | grep -c '^solo: ')" 1

if said=$(node bench/serve_load.mjs --solo "$SOLO" --clients 6 --seconds 4 --tokens 10 --parallel 3 --queue 2); then
    echo "ok clients that come and go: $(echo "$said" | head -n 1)"
else
    echo "not ok clients that come and go: $said"
fi

"$SOLO" serve --port 0 --api-key-file "$work/none" >/dev/null 2>"$work/err"
check "keys that are not there" "$? $(grep -c 'No such file' "$work/err")" "1 1"
: >"$work/empty"
"$SOLO" serve --port 0 --api-key-file "$work/empty" >/dev/null 2>"$work/err"
check "no key in the file" "$? $(grep -c 'there is no key in it' "$work/err")" "1 1"
"$SOLO" serve --port 0 --host nowhere.invalid >/dev/null 2>"$work/err"
check "an address that is none" "$? $(grep -c 'no address of this machine' "$work/err")" "2 1"
"$SOLO" serve --port 0 --page "$work/none" >/dev/null 2>&1
check "a page that is not there" $? 1
