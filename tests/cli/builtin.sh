#!/bin/sh
# The built-in model: every command that takes a model takes none.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
model=models/builtin.gguf
text="Once upon a time"

same() {
    if [ -n "$2" ] && [ "$2" = "$3" ]; then echo "ok $1"; else echo "not ok $1 ('$2', not '$3')"; fi
}

same "tokenize without a model" "$(printf %s "$text" | "$SOLO" tokenize --bos)" \
    "$(printf %s "$text" | "$SOLO" tokenize --bos $model)"
same "logits without a model" "$("$SOLO" logits --tokens 0,2599,660 | cksum)" \
    "$("$SOLO" logits $model --tokens 0,2599,660 | cksum)"
same "chat without a model" "$(echo "$text" | "$SOLO" chat -n 4 --temp 0 2>&1)" \
    "$(echo "$text" | "$SOLO" chat $model -n 4 --temp 0 2>&1)"

# The same story everywhere: the choice of a token forgives the last digits of the logits, hardly more.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tell() {
    for level in none ops; do
        "$SOLO" run -p "$text" -n 40 --impl "$1" --fuse $level >"$work/$1-$level" 2>&1
    done
}
for impl in dawn wgpu vulkan; do tell $impl & done
wait
right="Once upon a time there lived a king who had three sons, and one son, who was very poor, and had a son. He was a very poor man, and had a son, and he was a very"
for impl in dawn wgpu vulkan; do
    for level in none ops; do
        same "a story by $impl, --fuse $level" "$(cat "$work/$impl-$level")" "$right"
    done
done
drawn() { "$SOLO" run -p "$text" -n 16 --impl "$1" --fuse "$2" --temp 0.8 --top-k 40 --seed 7; }
same "a story that is drawn" "$(drawn dawn ops)" "$(drawn wgpu none)"
