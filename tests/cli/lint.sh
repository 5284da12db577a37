#!/bin/sh
# What tools/lint.sh finds here: nothing, in each of its checks; and that it finds what is wrong where something is.
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
cd "$(dirname "$0")/../.." || exit 1
root=$PWD
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# the checks that must find nothing; tools/lint.sh has all of them
enabled="format shell includes headers wgsl markdown length records"

for check in $enabled; do
    sh tools/lint.sh "$check" >"$work/found" 2>"$work/errors"
    case $? in
        0) echo "ok lint $check" ;;
        3) echo "skip lint $check ($(cat "$work/errors"))" ;;
        *) echo "not ok lint $check ($(wc -l <"$work/found") places)"; cat "$work/found" "$work/errors" ;;
    esac
done

# finds CHECK LINE...: that is what the check says about the files made below, and nothing else
finds() {
    check=$1
    shift
    printf '%s\n' "$@" >"$work/right"
    if (cd "$work/tree" && node "$root/tools/lint_files.mjs" "$check") >"$work/found"; then
        echo "not ok lint sees wrong $check (exit status 0)"
    elif cmp -s "$work/found" "$work/right"; then
        echo "ok lint sees wrong $check"
    else
        echo "not ok lint sees wrong $check"
        diff "$work/right" "$work/found"
    fi
}

mkdir -p "$work/tree/src/gpu" "$work/tree/src/sim" "$work/tree/src/cli" "$work/tree/src/odd" "$work/tree/kernels" "$work/tree/tools" "$work/tree/tests/data"
cd "$work/tree" || exit 1
printf '/* The right way: what is above. */\n#include "base/str.h"\n#include "kernels.h"\n#include "gpu/backend.h"\n#include <stdio.h>\n' >src/gpu/good.c
printf '#include "sim/sim.h"\n' >src/gpu/upward.c
printf '/* It needs a graph. */\n#include "gpu/gpu.h"\n  #  include "graph/plan.h"\n' >src/sim/sideways.h
printf '/* It looks inside. */\n#include "sim/sim.h"\n#include "gpu/backend.h"\n#include "../gpu/gpu.h"\n' >src/cli/inside.c
printf '/* Nobody knows it. */\n' >src/odd/odd.c
printf '#!/bin/sh\n# What this script is for.\n' >tools/good.sh
printf '#!/bin/sh\nset -u\n' >tools/bare.sh
printf '"""What this module is for."""\n' >tools/good.py
printf '//!include "x"\nlet a = 1;\n' >kernels/bare.wgsl
node -e 'console.log(`// Wide enough ${"µ".repeat(105)}\n// ${"µ".repeat(120)}`)' >kernels/wide.wgsl
{ echo '// Exactly so many lines.'; yes '' | head -n 499; } >tools/full.mjs
{ echo '// One line more.'; yes '' | head -n 500; } >tools/over.mjs
cp tools/over.mjs tests/data/over.mjs
cd "$root" || exit 1

finds includes 'src/cli/inside.c:3: "gpu/backend.h" is for src/gpu alone' \
    'src/cli/inside.c:4: "../gpu/gpu.h" is in no folder of src/ that tools/lint_files.mjs knows' \
    'src/gpu/upward.c:1: src/gpu stands above src/sim and may not include "sim/sim.h"' \
    'src/odd/odd.c:1: src/odd has no place in the order of folders' \
    'src/sim/sideways.h:3: src/sim does without src/graph and may not include "graph/plan.h"'
finds headers 'kernels/bare.wgsl:1: does not open with a comment that says what the file is for' \
    'src/gpu/upward.c:1: does not open with a comment that says what the file is for' \
    'tools/bare.sh:2: does not open with a comment that says what the file is for'
finds wgsl 'kernels/wide.wgsl:2: 123 columns, more than 120'
finds length 'tools/over.mjs:501: 501 lines, more than 500'

# Markdown: what is wrapped, and what must stay
cat >"$work/wide.md" <<'END'
# A heading that is quite long, longer than any line of a paragraph would be allowed to be, but headings cannot be wrapped at all

Some words that go on and on, for longer than a line should be, with `a code span that must not be broken anywhere` in them
and a second line.

- an item that goes on and on, for longer than a line should be, so that it is continued on a second line of its own, below - here
  1. and one inside that is short

    not code, since it belongs to the item above, but long enough to be wrapped, which takes some more words than this, and then some

| a table | whose rows may be as long as they like, since nothing can be done about a row of a table that is too long | as this |
|---|---|---|

Measured on: <!-- table machine some.json -->
A machine whose description is very long, and which is written here by a script, which would write it in one line again, of course
<!-- end -->

```
code that is as long as it is, since code is code and nobody wraps code that stands in a document, whatever its length may be then
```

![a picture whose description is long enough to fill more than a line, which is good for those who cannot see it at all](picture.svg)
END
cat >"$work/right.md" <<'END'
# A heading that is quite long, longer than any line of a paragraph would be allowed to be, but headings cannot be wrapped at all

Some words that go on and on, for longer than a line should be, with
`a code span that must not be broken anywhere` in them and a second line.

- an item that goes on and on, for longer than a line should be, so that it is continued on a second line of
  its own, below - here
  1. and one inside that is short

    not code, since it belongs to the item above, but long enough to be wrapped, which takes some more words
    than this, and then some

| a table | whose rows may be as long as they like, since nothing can be done about a row of a table that is too long | as this |
|---|---|---|

Measured on: <!-- table machine some.json -->
A machine whose description is very long, and which is written here by a script, which would write it in one line again, of course
<!-- end -->

```
code that is as long as it is, since code is code and nobody wraps code that stands in a document, whatever its length may be then
```

![a picture whose description is long enough to fill more than a line, which is good for those who cannot see it at all](picture.svg)
END
found=$(node tools/wrap_markdown.mjs --check "$work/wide.md" | sed "s|^$work/||")
right=$(printf 'wide.md:3: 123 columns, more than 120\nwide.md:6: 130 columns, more than 120\nwide.md:9: 133 columns, more than 120')
if [ "$found" = "$right" ]; then echo "ok lint sees wide Markdown"; else echo "not ok lint sees wide Markdown ($found)"; fi
node tools/wrap_markdown.mjs "$work/wide.md"
if diff "$work/right.md" "$work/wide.md"; then echo "ok Markdown is wrapped where it can be"; else echo "not ok Markdown is wrapped where it can be"; fi
node tools/wrap_markdown.mjs "$work/wide.md"
if cmp -s "$work/right.md" "$work/wide.md"; then echo "ok wrapping twice changes nothing"; else echo "not ok wrapping twice changes nothing"; fi

printf '{"a": [1, 2.50, "x, y: [z]"],\n "results": [{"n": 1e-05,\n "samples": [1, 2]}, {"n": 2}], "none": []}' >"$work/record.json"
if ! node tools/record_layout.mjs --check "$work/record.json" >/dev/null && node tools/record_layout.mjs "$work/record.json" &&
    printf '{\n "a": [1, 2.50, "x, y: [z]"],\n "results": [\n  {"n": 1e-05, "samples": [1, 2]},\n  {"n": 2}\n ],\n "none": []\n}\n' | cmp -s - "$work/record.json"
then echo "ok a record is laid out with one result per line"; else echo "not ok a record is laid out with one result per line"; fi
