#!/bin/sh
# Files that commands write: the modes they get, and what a command leaves behind that is killed.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# mode NAME FILE RIGHT
mode() {
    got=$(stat -c %a "$2" 2>&1)
    [ "$got" = "$3" ] && echo "ok $1" || echo "not ok $1 (mode $got, not $3)"
}

for mask in 022:644 077:600 002:664; do
    rm -f "$work"/*
    (umask "${mask%:*}" && "$SOLO" explain --svg "$work/a.svg" >/dev/null && "$SOLO" convert tests/data/families/llama-yarn "$work/a.gguf" >/dev/null)
    mode "a new file with umask ${mask%:*}" "$work/a.svg" "${mask#*:}"
    mode "a new model with umask ${mask%:*}" "$work/a.gguf" "${mask#*:}"
done
rm -f "$work"/*
: >"$work/a.svg" && chmod 600 "$work/a.svg" && ln -s a.svg "$work/link.svg"
"$SOLO" explain --svg "$work/link.svg" >/dev/null
mode "a file that was there keeps its mode" "$work/a.svg" 600
[ -L "$work/link.svg" ] && [ -s "$work/a.svg" ] && echo "ok what a link leads to is replaced" || echo "not ok what a link leads to is replaced"

# a standard output that is closed takes nothing
echo a | "$SOLO" tokenize >&- 2>"$work/err"
[ $? -eq 1 ] && grep -q "^solo: standard output: " "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] &&
    echo "ok a closed standard output" || echo "not ok a closed standard output ($(cat "$work/err"))"
"$SOLO" --help >&- 2>/dev/null && echo "not ok help to a closed standard output" || echo "ok help to a closed standard output"
"$SOLO" explain --svg "$work/b.svg" >/dev/null 2>&1 <&- && echo "ok a closed standard input" || echo "not ok a closed standard input"
rm -f "$work/b.svg" "$work/err"

# a driver that cannot keep its own files, since the home cannot be written, has nothing to say about it
for impl in dawn wgpu vulkan; do
    env -u XDG_CACHE_HOME HOME=/dev/null "$SOLO" run --impl $impl -n 1 -p It >/dev/null 2>"$work/err" && [ ! -s "$work/err" ] &&
        echo "ok a home that cannot be written: $impl" || echo "not ok a home that cannot be written: $impl ($(cat "$work/err"))"
done
rm -f "$work/err"

# a pipe where a folder should have a file is refused, not waited for
mkdir "$work/folder" "$work/adapter" && cp tests/data/models/llama-linear/* "$work/folder"
mkfifo "$work/adapter/adapter_config.json"
for name in config.json tokenizer.json modules.json; do
    mv "$work/folder/$name" "$work/kept" 2>/dev/null
    mkfifo "$work/folder/$name"
    timeout 20 "$SOLO" convert "$work/folder" "$work/a.gguf" >/dev/null 2>"$work/err"
    [ $? -eq 1 ] && [ "$(cat "$work/err")" = "solo: $work/folder/$name: not a plain file" ] && echo "ok a pipe as $name" || echo "not ok a pipe as $name ($(cat "$work/err"))"
    rm "$work/folder/$name"
    mv "$work/kept" "$work/folder/$name" 2>/dev/null
done
timeout 20 "$SOLO" logits "$work/folder" --tokens 1 --lora "$work/adapter" --impl stub >/dev/null 2>"$work/err"
[ $? -eq 1 ] && grep -q "adapter_config.json: not a plain file" "$work/err" && echo "ok a pipe as an adapter's configuration" || echo "not ok a pipe as an adapter's configuration ($(cat "$work/err"))"
# a model is not replaced by what is made from it
"$SOLO" convert "$work/folder" "$work/folder/model.safetensors" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && grep -q "is a part of the model" "$work/err" && cmp -s "$work/folder/model.safetensors" tests/data/models/llama-linear/model.safetensors &&
    echo "ok a folder's weights stay" || echo "not ok a folder's weights stay ($(cat "$work/err"))"
"$SOLO" convert "$work/folder" "$work/folder/m-00001-of-00002.gguf" >/dev/null 2>"$work/err" && cp "$work/folder/m-00001-of-00002.gguf" "$work/folder/m-00002-of-00002.gguf" &&
    echo "ok a GGUF file beside them" || echo "not ok a GGUF file beside them ($(cat "$work/err"))"
"$SOLO" convert "$work/folder/m-00001-of-00002.gguf" "$work/folder/m-00002-of-00002.gguf" >/dev/null 2>"$work/err"
[ $? -eq 2 ] && grep -q "is a part of the model" "$work/err" && echo "ok the parts of a split file stay" || echo "not ok the parts of a split file stay ($(cat "$work/err"))"
rm -r "$work/folder" "$work/adapter" "$work/err"

# what is read is not replaced by what is made of it
mkdir "$work/in"
cp results/h200/llm/qwen2.5-0.5b-f32.torch.json "$work/in/a.json" && cp "$work/in/a.json" "$work/in/b.json" && echo text >"$work/in/lines"
cp models/builtin.gguf tests/data/torch/convnet.pt2 "$work/in" && printf '1\n2\n' >"$work/in/table.csv" && ln -s a.json "$work/in/link.json"
"$SOLO" sim pi --show | sed 's/^const STEPS.*/const STEPS = 1;/' >"$work/in/own.wgsl"
(cd "$work/in" && sha256sum -- * >../sums)
stays() { # NAME COMMAND...
    name=$1
    shift
    "$@" >/dev/null 2>"$work/err" </dev/null
    [ $? -eq 2 ] && grep -q "would replace .*, which is read" "$work/err" && [ "$(wc -l <"$work/err")" -eq 1 ] && (cd "$work/in" && sha256sum --quiet -c ../sums) &&
        echo "ok not replaced by $name" || echo "not ok not replaced by $name ($(cat "$work/err"))"
}
stays report "$SOLO" report "$work/in/b.json" "$work/in/a.json" -o "$work/in/a.json"
stays "report, by another name" "$SOLO" report "$work/in/link.json" -o "$work/in/../in/a.json"
stays "compare, A" "$SOLO" compare "$work/in/a.json" "$work/in/b.json" --json "$work/in/a.json"
stays "compare, B" "$SOLO" compare "$work/in/a.json" "$work/in/b.json" --json "$work/in/b.json"
stays embed "$SOLO" embed --pooling mean -f "$work/in/lines" --json "$work/in/lines"
stays "embed, the model" "$SOLO" embed "$work/in/builtin.gguf" --pooling mean -p a --json "$work/in/builtin.gguf"
stays explain "$SOLO" explain "$work/in/builtin.gguf" --svg "$work/in/builtin.gguf"
stays "bench llm" "$SOLO" bench llm "$work/in/builtin.gguf" -p 1 -n 1 -r 1 --json "$work/in/builtin.gguf"
stays "bench batch" "$SOLO" bench batch "$work/in/builtin.gguf" -p 1 -n 1 -r 1 --json "$work/in/builtin.gguf"
stays "bench graph" "$SOLO" bench graph "$work/in/convnet.pt2" --json "$work/in/convnet.pt2"
stays "sim, the table" "$SOLO" sim "$work/in/own.wgsl" --data "$work/in/table.csv" -o "$work/in/table.csv"
stays "sim, the genes" "$SOLO" sim sphere --genomes "$work/in/table.csv" --trace "$work/in/table.csv"
stays "sim, the simulation" "$SOLO" sim "$work/in/own.wgsl" --evolve 1 --save "$work/in/own.wgsl"
rm -r "$work/in" "$work/sums" "$work/err"

# killed at any moment, a command leaves the old file or the new one, and nothing beside it
echo old >"$work/a.svg"
left=0
for delay in 0.002 0.005 0.01 0.02 0.03 0.04 0.06 0.08 0.1 0.15; do
    "$SOLO" explain --svg "$work/a.svg" >/dev/null 2>&1 &
    pid=$!
    sleep $delay
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ "$(find "$work" -type f | wc -l)" -eq 1 ] && { grep -q '^old$' "$work/a.svg" || grep -q '</svg>' "$work/a.svg"; } || left=$((left + 1))
done
[ $left -eq 0 ] && echo "ok a killed command leaves nothing half-written" || echo "not ok a killed command leaves nothing half-written ($left of 10; $(ls "$work"))"

# no room in /tmp, and a TMPDIR that leads nowhere: what needs neither is as always, what does says so in one line
elsewhere=$(mktemp -d -p /var/tmp)
trap 'rm -rf "$work" "$elsewhere"' EXIT
case $SOLO in /*) ;; *) SOLO=$PWD/$SOLO ;; esac
mkdir "$elsewhere/here"
# cramped COMMAND...: with its own /tmp, which is full. This folder may lie in the other one, so it is bound to where it was.
cramped() {
    TMPDIR=/nowhere SOLO_CACHE=$elsewhere/cache unshare -rm sh -c 'here=$1 there=$2 && shift 2 && mount --rbind "$here" "$there" &&
        mount -t tmpfs -o size=4k none /tmp && mkdir -p "$here" && mount --rbind "$there" "$here" &&
        { cat /dev/zero >/tmp/full 2>/dev/null; exec "$@"; }' cramped "$PWD" "$elsewhere/here" "$@"
}
# without_room NAME STATUS LINES TEXT COMMAND...: so many lines of errors, the last of which is TEXT
without_room() {
    name=$1 status=$2 lines=$3 text=$4
    shift 4
    echo hi | cramped "$@" >"$elsewhere/out" 2>"$elsewhere/err"
    got=$?
    if [ $got -eq "$status" ] && [ "$(wc -l <"$elsewhere/err")" -eq "$lines" ] && [ "$(tail -n 1 "$elsewhere/err")" = "$text" ]; then
        echo "ok no room in /tmp: $name"
    else
        echo "not ok no room in /tmp: $name (status $got, $(head -c 300 "$elsewhere/err"))"
    fi
}
if ! command -v python3 >/dev/null || ! cramped true 2>/dev/null; then
    echo "skip no room in /tmp (it takes python3 and a file system of one's own)"
    exit 0
fi
python3 tests/oracle/make_folder.py mistral "$elsewhere/folder"
python3 tests/cli/make_bigram.py "$elsewhere/bigram"
echo '[{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]' >"$elsewhere/tools.json"
cat >"$elsewhere/tools.jinja" <<'EOT'
{{- messages[-1].content }}{{ '<|ask|>' if tools else '<|say|>' -}}
EOT
record=results/h200/llm/qwen2.5-0.5b-f32.torch.json

# a file system that is full half way: the old file stays, and nothing beside it
mkdir "$elsewhere/small"
for command in "convert $elsewhere/folder out" "explain --bandwidth 100 --svg out" "report $record -o out" "synth qwen2.5-0.5b q4_0 out"; do
    # shellcheck disable=SC2086 # words
    said=$(SOLO_CACHE=off unshare -rm sh -c 'mount -t tmpfs -o size=8k none "$0/small" && cd "$0/small" && echo old >out && command=$1 && shift &&
        for word; do shift; [ "$word" != out ] || word=$PWD/out; set -- "$@" "$word"; done
        (cd "$OLDPWD" && "$command" "$@") 2>&1 >/dev/null; echo "$? $(cat out | head -c 20) $(ls)"' "$elsewhere" "$SOLO" $command)
    case $said in
        *"No space left on device"*"
1 old out") [ "$(echo "$said" | wc -l)" -eq 2 ] && echo "ok a full file system: ${command%% *}" || echo "not ok a full file system: $said" ;;
        *) echo "not ok a full file system: ${command%% *}: $said" ;;
    esac
done

without_room tokenize 0 0 "" "$SOLO" tokenize
without_room convert 0 0 "" "$SOLO" convert "$elsewhere/folder" "$elsewhere/a.gguf"
without_room explain 0 0 "" "$SOLO" explain --bandwidth 100 --svg "$elsewhere/a.svg"
without_room report 0 0 "" "$SOLO" report $record -o "$elsewhere/a.html"
without_room compare 0 0 "" "$SOLO" compare $record $record
without_room "collect import" 0 0 "" "$SOLO" collect import results/h200/dispatch.json --db "$elsewhere/lab.sqlite"
without_room run 0 0 "" "$SOLO" run --impl dawn --fuse ops -n 2 -p It
without_room sim 0 0 "" "$SOLO" sim pi --impl dawn --pop 64 --steps 4 -o "$elsewhere/scores.csv"
without_room "bench dispatch" 0 0 "" "$SOLO" bench dispatch --impl stub --quick --rounds 2 --processes 1 --json "$elsewhere/record.json"
# the command does not get half of a call
without_room "a tool's command" 1 2 "solo: the tool's command cannot be run: No space left on device" "$SOLO" chat "$elsewhere/bigram" --impl dawn --temp 0 \
    --template "$elsewhere/tools.jinja" --tools "$elsewhere/tools.json" --tool-command cat
