#!/bin/sh
# tools/lint.sh [CHECK...]: what `make lint` runs. Prints `FILE:LINE: what is wrong`; exit status 1 if anything is.
#
#   format     the C is laid out as clang-format does (`make format` does it)
#   shell      what shellcheck finds in scripts
#   includes   folders of src/ include only from folders above them (tools/lint_files.mjs has the order)
#   headers    every source file opens with a comment that says what it is for
#   wgsl       lines of WGSL have at most 120 columns
#   markdown   so have lines of Markdown that can be wrapped (`make format` wraps them)
#   length     files of source have at most 500 lines
#   records    records have one result per line (`make format` lays them out)
#
# Without CHECK, all of them. A tool that is not installed is named on standard error and its check left out;
# exit status 3 if that was the only thing.
set -u
cd "$(dirname "$0")/.." || exit 1

status=0
wrong() { status=1; }
missing() {
    echo "lint: $1 is not here (apt-get install $1)" >&2
    [ "$status" -ne 0 ] || status=3
}

sources() { # those of these endings, one per line; NAME... as find -name takes them
    find bench include python examples src tests tools web -name node_modules -prune -o -type f \( "$@" \) -print 2>/dev/null | sort
}

check_format() {
    command -v clang-format >/dev/null || { missing clang-format; return; }
    # the compiler's way of saying it has more lines; the first names file and line
    said=$(sources -name '*.[ch]' | xargs clang-format --dry-run -Werror 2>&1) ||
        { echo "$said" | grep -E '^[^ ].*: error: ' | sed 's/: error: .*/: not laid out as clang-format does/' | sort -u; wrong; }
}

check_shell() {
    command -v shellcheck >/dev/null || { missing shellcheck; return; }
    sources -name '*.sh' -o -name '*.inc' | xargs shellcheck -f gcc || wrong
}

check_records() {
    find results -name '*.json' -exec node tools/record_layout.mjs --check {} + || wrong
}

[ $# -gt 0 ] || set -- format shell includes headers wgsl markdown length records
for check in "$@"; do
    case $check in
        format) check_format ;;
        shell) check_shell ;;
        records) check_records ;;
        markdown) node tools/wrap_markdown.mjs --check || wrong ;;
        includes | headers | wgsl | length) node tools/lint_files.mjs "$check" || wrong ;;
        *) echo "lint: there is no check $check (format shell includes headers wgsl markdown length records)" >&2; exit 2 ;;
    esac
done
exit "$status"
