#!/bin/sh
# What the documents say is what the records say.
cd "$(dirname "$0")/../.." || exit 1
if stale=$(node tools/tables.mjs --check); then
    echo "ok the tables are what results/ says"
else
    echo "not ok the tables are what results/ says ($stale)"
fi
picture=$(mktemp)
node tools/picture.mjs results/h200/dispatch.json "$picture"
if cmp -s "$picture" docs/ladder.svg; then
    echo "ok the picture is what results/ says"
else
    echo "not ok the picture is what results/ says"
fi
rm -f "$picture"
pictures=$(mktemp -d)
node tools/one_pictures.mjs results/h200/llm "$pictures"
stale=$(for file in "$pictures"/*.svg; do [ ! -e "$file" ] || cmp -s "$file" "docs/$(basename "$file")" || basename "$file"; done)
[ -z "$stale" ] && echo "ok the pictures of one dispatch are what results/ says" || echo "not ok the pictures of one dispatch are what results/ says ($stale)"
rm -rf "$pictures"
pictures=$(mktemp -d)
node tools/sim_pictures.mjs results/h200/sim "$pictures"
stale=$(for file in "$pictures"/*.svg; do cmp -s "$file" "docs/$(basename "$file")" || basename "$file"; done)
[ -z "$stale" ] && echo "ok the pictures of simulations are what results/ says" || echo "not ok the pictures of simulations are what results/ says ($stale)"
rm -rf "$pictures"
missing=$(grep -ohE '\]\([^)#:]+\)' README.md | sed 's/](\(.*\))/\1/' | while read -r path; do [ -e "$path" ] || echo "$path"; done)
[ -z "$missing" ] && echo "ok the README's links lead somewhere" || echo "not ok the README's links lead somewhere ($missing)"
