#!/bin/sh
# solo report and solo compare as a person types them.
# Prints a line per test: `ok NAME`, `not ok NAME why`, `skip NAME why`.
set -u
solo=${SOLO:-build/solo}
case $solo in /*) ;; *) solo=$PWD/$solo ;; esac
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

failed=0
pass() { echo "ok $1"; }
fail() { echo "not ok $1 $2"; failed=1; }

# expect NAME STATUS STDERR_PATTERN COMMAND...: an empty pattern means an empty stderr.
# A failure (status 1) must be one line that begins with "solo: ".
expect() {
    name=$1 want=$2 pattern=$3
    shift 3
    "$@" >out 2>err </dev/null
    got=$?
    if [ "$got" -ne "$want" ]; then
        fail "$name" "exit status $got, wanted $want: $(head -n 1 err)"
    elif [ -z "$pattern" ] && [ -s err ]; then
        fail "$name" "stderr says: $(head -n 1 err)"
    elif [ -n "$pattern" ] && ! grep -q -- "$pattern" err; then
        fail "$name" "stderr does not mention '$pattern': $(head -n 1 err)"
    elif [ "$want" -eq 1 ] && { [ "$(wc -l <err)" -ne 1 ] || ! grep -q '^solo: ' err; }; then
        fail "$name" "stderr is not one line from solo: $(head -n 2 err)"
    else
        pass "$name"
    fi
}

# contains NAME FILE TEXT / lacks NAME FILE TEXT
contains() { if grep -q -F -- "$3" "$2"; then pass "$1"; else fail "$1" "'$3' is not in $2"; fi; }
lacks() { if [ ! -f "$2" ]; then fail "$1" "there is no $2"; elif grep -q -F -- "$3" "$2"; then fail "$1" "'$3' is in $2"; else pass "$1"; fi; }

# record FILE COMMIT DEVICE SCALE
record() {
    LC_ALL=C awk -v commit="$2" -v device="$3" -v scale="$4" 'BEGIN {
        printf "{\"schema\":\"solo-record-1\",\"solo\":{\"version\":\"0.1.0\",\"commit\":\"%s\"},", commit
        printf "\"when\":\"2026-01-31T12:00:00Z\",\"host\":{\"os\":\"Linux\",\"cpu\":\"C\",\"cores\":2},"
        printf "\"gpus\":[{\"impl\":\"dawn\",\"device\":\"%s\",\"adapter_type\":\"software\"}],", device
        printf "\"clock_ns\":1,\"experiment\":\"dispatch\",\"results\":["
        n = split("sync each pass batch one", ways, " ")
        for (i = 1; i <= n; i++) {
            cost = (6 - i) * scale
            printf "%s{\"name\":\"dispatch\",\"params\":{\"impl\":\"dawn\",\"submit\":\"%s\",\"kernel\":\"add\"},", (i > 1 ? "," : ""), ways[i]
            printf "\"unit\":\"us\",\"samples\":[%g,%g,%g,%g],", cost, cost * 1.001, cost * 0.999, cost
            printf "\"points\":[[1,%g],[100,%g]],\"intercept\":5}", 5 + cost, 5 + 100 * cost
        }
        printf ",{\"name\":\"tg128\",\"params\":{\"impl\":\"dawn\",\"fuse\":\"loop\"},\"unit\":\"tok/s\",\"samples\":[50,50,50]}"
        printf "],\"checks\":[{\"what\":\"outputs\",\"ok\":true,\"detail\":\"4 runs\"}]}\n" }' >"$1"
}

# busy FILE: the same record, of a machine that was busy
busy() { sed 's/"cores":2/"cores":2,"busy":1.25/' "$1"; }

if [ ! -x "$solo" ]; then
    echo "skip report no binary at $solo"
    exit 0
fi

record a.json aaa "GPU one" 1
record b.json bbb "GPU one" 2
record other.json aaa "GPU two" 1
record evil.json aaa '<script>alert(1)</script>\\" onload=\\"x' 1
printf 'hello\n' >text.json
printf '{"schema":"solo-record-1","results":[{"name":"x","samples":[1,null]}]}' >null.json
head -c 300 a.json >cut.json
printf '{"schema":"solo-record-1","results":[{"name":"x","samples":[1,2,3]}]}' >alone.json

expect report-makes-a-page 0 '' "$solo" report a.json -o r.html
contains report-has-charts r.html '<svg'
contains report-is-for-phones r.html 'name="viewport"'
contains report-has-dark r.html 'prefers-color-scheme:dark'
lacks report-fetches-nothing r.html 'src='
lacks report-needs-no-script r.html '<script'
contains report-shows-unknown-results r.html 'tg128'
expect report-options-first 0 '' "$solo" report -o r1.html a.json
expect report-of-several 0 '' "$solo" report a.json b.json -o r2.html
contains report-lists-them r2.html '2 records'
expect report-to-stdout 0 '' "$solo" report a.json -o -
contains report-stdout-is-the-page out '</html>'
expect report-of-hostile-strings 0 '' "$solo" report evil.json -o evil.html
lacks report-escapes-tags evil.html '<script'
lacks report-escapes-quotes evil.html '" onload="'
contains report-still-shows-them evil.html '&lt;script&gt;'
busy a.json >busy.json
expect report-of-a-busy-machine 0 '' "$solo" report busy.json -o busy.html
contains report-says-that-it-was-busy busy.html 'The machine was busy: 1.2 of its 2 processors did other work'
lacks report-of-an-idle-one-does-not r.html 'The machine was busy'
expect report-help 0 '' "$solo" report --help
contains report-help-says-usage out 'usage: solo report'
expect report-without-records 2 '-o\|report --help' "$solo" report -o r.html
expect report-without-output 2 '-o\|report --help' "$solo" report a.json
expect report-o-without-file 2 '-o\|report --help' "$solo" report a.json -o
expect report-unknown-option 2 '--frobnicate' "$solo" report --frobnicate a.json -o r.html
expect report-not-json 1 'text.json: not JSON: line 1' "$solo" report text.json -o x.html
expect report-truncated 1 'cut.json: not JSON' "$solo" report cut.json -o x.html
expect report-null-sample 1 'null.json: .*samples\[1\]' "$solo" report null.json -o x.html
expect report-missing-file 1 'missing.json' "$solo" report missing.json -o x.html
expect report-of-a-folder 1 'folder' "$solo" report . -o x.html
expect report-one-bad-of-two 1 'text.json' "$solo" report a.json text.json -o x.html
if [ -e x.html ]; then fail report-writes-nothing-on-failure 'x.html is there'; else pass report-writes-nothing-on-failure; fi
expect report-unwritable 1 'no-such-folder/x.html' "$solo" report a.json -o no-such-folder/x.html
if [ -w /dev/full ]; then
    expect report-full-disk 1 '/dev/full' "$solo" report a.json -o /dev/full
else
    echo "skip report-full-disk no /dev/full"
fi

expect compare-with-itself 0 '' "$solo" compare a.json a.json
contains compare-all-same out '6 same, 0 faster, 0 slower, 0 cannot tell'
lacks compare-itself-without-notes out 'note:'
expect compare-slower 0 '' "$solo" compare a.json b.json
contains compare-counts out '1 same, 0 faster, 5 slower, 0 cannot tell'
contains compare-notes-the-commit out 'different commit: aaa | bbb'
expect compare-faster 0 '' "$solo" compare b.json a.json
contains compare-counts-faster out '1 same, 5 faster, 0 slower, 0 cannot tell'
expect compare-across-machines 0 '' "$solo" compare a.json other.json
contains compare-notes-the-gpu out 'different GPU: GPU one | GPU two'
expect compare-with-a-busy-machine 0 '' "$solo" compare a.json busy.json
contains compare-notes-the-other-work out 'note: the machine was busy with other work while the second was measured, 1.2 of its 2 processors'
expect compare-json-to-stdout 0 '' "$solo" compare a.json b.json --json -
contains compare-json-has-verdicts out '"verdict": "slower"'
if [ "$(head -c 1 out)" = "{" ]; then pass compare-json-alone; else fail compare-json-alone 'stdout is not only JSON'; fi
expect compare-json-to-file 0 '' "$solo" compare a.json b.json --json c.json
contains compare-json-file c.json 'solo-comparison-1'
contains compare-json-file-and-table out '5 slower'
expect compare-help 0 '' "$solo" compare --help
expect compare-one-record 2 'B.json is missing' "$solo" compare a.json
expect compare-three-records 2 'compare --help' "$solo" compare a.json b.json a.json
expect compare-unknown-option 2 '--loud' "$solo" compare a.json b.json --loud
expect compare-not-json 1 'text.json: not JSON' "$solo" compare a.json text.json
expect compare-missing-file 1 'missing.json' "$solo" compare missing.json a.json
expect compare-nothing-shared 1 'share no result' "$solo" compare a.json alone.json
if [ -w /dev/full ]; then
    expect compare-full-disk 1 'standard output' sh -c '"$0" compare a.json b.json >/dev/full' "$solo"
fi

exit "$failed"
