#!/bin/sh
# 256 tokens of the built-in model, drawn: the same at every fusion level, on every implementation that compiles WGSL.
SOLO=${SOLO:-build/solo}
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tell() { "$SOLO" run -p "The king's daughter" -n 256 --temp 0.8 --top-k 40 --seed 5 --impl "$1" --fuse "$2" >"$work/$1-$2" 2>&1; }
for level in none ops token loop; do
    for impl in dawn wgpu; do tell $impl $level & done
    wait
done
tokens=$("$SOLO" tokenize <"$work/dawn-none" | wc -w)
[ "$tokens" -ge 256 ] && echo "ok it is 256 tokens" || echo "not ok it is 256 tokens ($tokens: $(head -c 200 "$work/dawn-none"))"
for impl in dawn wgpu; do
    for level in none ops token loop; do
        cmp -s "$work/$impl-$level" "$work/dawn-none" && echo "ok $impl, --fuse $level" ||
            echo "not ok $impl, --fuse $level ($(head -c 200 "$work/$impl-$level"))"
    done
done
# a quantised KV cache: bench llm fails where levels make different tokens
if "$SOLO" bench llm --fuse none,ops,token,loop --submit batch -p 20 -n 8 -r 1 --cache-type q4_0 >"$work/cache" 2>&1; then
    echo "ok every level with a cache of q4_0"
else
    echo "not ok every level with a cache of q4_0 ($(tail -n 1 "$work/cache"))"
fi
# a prompt that is shorter than what stands before the tokens that are made
if "$SOLO" bench llm --fuse ops,loop --submit batch -p 8 -n 8 -d 40 -r 2 >"$work/shorter" 2>&1; then
    echo "ok every level behind a shorter prompt"
else
    echo "not ok every level behind a shorter prompt ($(tail -n 1 "$work/shorter"))"
fi
# several texts at a time: bench batch fails likewise
if "$SOLO" bench batch --texts 3 --fuse none,ops,token,loop -p 20 -n 6 -r 2 --json "$work/several.json" >"$work/several" 2>&1 &&
    grep -q '^3 texts at a time, 20 tokens in and 6 out each' "$work/several" && grep -q '^  loop .* 1$' "$work/several"; then
    echo "ok every level with three texts at a time"
else
    echo "not ok every level with three texts at a time ($(tail -n 1 "$work/several"))"
fi
if "$SOLO" collect import --db "$work/all.sqlite" "$work/several.json" >"$work/imported" 2>&1; then
    echo "ok a record of several texts"
else
    echo "not ok a record of several texts ($(tail -n 1 "$work/imported"))"
fi
# a number of workgroups that no device has is said at once, not launched
if [ "$(SOLO_ONE_GROUPS=99999999 "$SOLO" run -p "The king" -n 2 --fuse loop 2>&1 >/dev/null | grep -c 'SOLO_ONE_GROUPS asks for more than')" = 1 ]; then
    echo "ok too many workgroups are refused"
else
    echo "not ok too many workgroups are refused"
fi
