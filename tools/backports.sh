#!/bin/sh
# backports.sh CODENAME [ROOT]: gives a Debian system the packages of CODENAME-backports, by its own source entry of CODENAME
# with another suite, so that no mirror is named. Writes a file in ROOT/etc/apt/sources.list.d and prints its path.
set -eu
suite=$1 lists=${2:-}/etc/apt

# Both forms that apt has for entries. The first of several is taken.
as_sources() {
    for file in "$lists"/sources.list.d/*.sources; do
        [ -e "$file" ] || continue
        awk -v suite="$suite" '
            function done() { if (match_suite && !off) { print "# Solo: a newer software Vulkan driver"; printf "%s", text; exit }
                              text = ""; match_suite = off = 0 }
            /^#/ { next }
            /^[ \t]*$/ { done(); next }
            tolower($1) == "suites:" { for (i = 2; i <= NF; i++) if ($i == suite) match_suite = 1
                                       text = text "Suites: " suite "-backports\n"; next }
            tolower($1) == "types:" { text = text "Types: deb\n"; next }
            tolower($1) == "enabled:" && tolower($2) == "no" { off = 1 }
            { text = text $0 "\n" }
            END { done() }' "$file"
    done | awk '/^# Solo/ && n++ { exit } { print }'
}
as_line() {
    cat "$lists/sources.list" "$lists"/sources.list.d/*.list 2>/dev/null |
        sed -nE "s/^(deb[ \t]+(\[[^]]*\][ \t]+)?[^ \t]+[ \t]+$suite)([ \t].*)/\1-backports\3/p" | head -n 1
}

source=$(as_sources) form=sources
[ -n "$source" ] || { source=$(as_line) form=list; }
[ -n "$source" ] || { echo "no apt source of $suite found to derive $suite-backports from" >&2; exit 1; }
file=$lists/sources.list.d/solo-backports.$form
echo "$source" >"$file"
echo "$file"
