#!/bin/sh
# What the documents say is what the records say.
cd "$(dirname "$0")/../.." || exit 1
if stale=$(node tools/tables.mjs --check); then
    echo "ok the tables are what results/ says"
else
    echo "not ok the tables are what results/ says ($stale)"
fi
if stale=$(node tools/fuzz.mjs --check 2>&1); then
    echo "ok the table of fuzz targets is what tests/fuzz/counts.json says"
else
    echo "not ok the table of fuzz targets is what tests/fuzz/counts.json says ($stale)"
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
# shellcheck disable=SC2046 # file names without spaces
if wrong=$(node tools/links.mjs $(git ls-files '*.md' 2>/dev/null || ls ./*.md docs/*.md results/*.md)); then
    echo "ok every relative link leads somewhere, every table stands in one place"
else
    echo "not ok every relative link leads somewhere, every table stands in one place ($(echo "$wrong" | tr '\n' ';'))"
fi
broken=$(mktemp -d)
printf '# A heading\n[file](gone.md) [heading](a.md#b) [good](a.md#a-heading)\n<!-- table a b -->\n<!-- end -->\n' >"$broken/a.md"
cp "$broken/a.md" "$broken/b.md"
found=$(node tools/links.mjs "$broken/a.md" "$broken/b.md" | wc -l)
[ "$found" -eq 5 ] && echo "ok a link or table that is wrong is found" || echo "not ok a link or table that is wrong is found ($found)"
rm -rf "$broken"
