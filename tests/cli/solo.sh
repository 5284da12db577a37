#!/bin/sh
# The command line as a user types it: help, errors and exit statuses, the record.
SOLO=${SOLO:-build/solo}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# expect NAME STATUS 'TEXT ON STDERR OR STDOUT' COMMAND...: the status, and a part of what is printed
expect() {
    name=$1 status=$2 part=$3
    shift 3
    "$@" >"$work/out" 2>"$work/err" </dev/null
    got=$?
    if [ $got -ne "$status" ]; then
        echo "not ok $name (exit $got instead of $status: $(head -c 200 "$work/err"))"
    elif [ -n "$part" ] && ! grep -qF -- "$part" "$work/out" "$work/err"; then
        echo "not ok $name (does not say '$part': $(head -c 200 "$work/err"))"
    elif [ "$status" -ne 0 ] && [ "$(wc -l <"$work/err")" -ne 1 ] && [ -n "$part" ] && [ "$name" != "no command" ]; then
        echo "not ok $name (more than one line on stderr)"
    else
        echo "ok $name"
    fi
}

expect "help" 0 "usage: solo COMMAND" "$SOLO" --help
expect "version" 0 "solo 0." "$SOLO" --version
expect "no command" 2 "usage: solo COMMAND" "$SOLO"
expect "unknown command" 2 "unknown command 'dance'" "$SOLO" dance
for command in info demo bench report compare; do
    expect "help of $command" 0 "usage: solo $command" "$SOLO" $command --help
done
expect "unknown option" 2 "unknown option '--dance'" "$SOLO" bench dispatch --dance
expect "option without its value" 2 "--impl needs a value" "$SOLO" bench dispatch --impl
expect "number out of range" 2 "--rounds takes a whole number" "$SOLO" bench dispatch --rounds many
expect "unknown experiment" 2 "unknown experiment" "$SOLO" bench dancing
expect "unknown implementation" 2 "unknown implementation 'metal9'" "$SOLO" bench dispatch --impl metal9
expect "unknown implementation in info" 2 "unknown implementation 'metal9'" "$SOLO" info --impl metal9
expect "unknown adapter" 2 "--adapter takes" "$SOLO" bench dispatch --adapter fast
expect "missing library" 1 "/no/such/lib.so: no such library" "$SOLO" bench dispatch --impl /no/such/lib.so
expect "not a library" 1 "not a library that loads" "$SOLO" info --impl /etc/passwd
libc=$(ldd "$SOLO" | awk '/libm\.so/ {print $3; exit}')
expect "a library that is not WebGPU" 1 "not a WebGPU library" "$SOLO" info --impl "$libc"
expect "a missing library by the environment" 3 "SOLO_DAWN=/no/such/lib.so does not load" \
    env SOLO_DAWN=/no/such/lib.so "$SOLO" info --impl dawn
expect "no GPU at all" 3 "no usable GPU" \
    env VK_ICD_FILENAMES=/nonexistent.json VK_DRIVER_FILES=/nonexistent.json "$SOLO" bench dispatch --quick
expect "an unwritable record is reported before measuring" 1 "cannot write" \
    "$SOLO" bench dispatch --impl stub --quick --json /no/such/folder/r.json
[ -e /dev/full ] && expect "a full disk" 1 "No space left" "$SOLO" bench dispatch --impl stub --quick --json /dev/full

expect "a folder for the record" 1 "Is a directory" "$SOLO" bench dispatch --impl stub --quick --json "$work"
expect "an implementation named twice" 2 "stub is named twice" "$SOLO" bench dispatch --impl stub,stub --quick
expect "a list of nothing" 2 "names no implementation" "$SOLO" info --impl ,,,
expect "a list of nothing to measure" 2 "names no implementation" "$SOLO" bench dispatch --impl ,
[ -e /dev/full ] && {
    "$SOLO" --version >/dev/full 2>"$work/err"
    [ $? -eq 1 ] && grep -q "No space left" "$work/err" && echo "ok a full standard output" || echo "not ok a full standard output"
}
# with its reason also where the text is written piece by piece, or is longer than a buffer
[ -e /dev/full ] && for full in "run -p x -n 8" "explain" "models"; do
    # shellcheck disable=SC2016,SC2086 # words are words
    expect "a full standard output of $full" 1 "solo: standard output: No space left" sh -c '"$@" >/dev/full' "$SOLO" "$SOLO" $full
done
echo keep >"$work/r.json.partial"
timeout 1200 "$SOLO" bench dispatch --impl stub --quick --rounds 2 --json "$work/stub.json" <&- >&- 2>&-
[ $? -ne 124 ] && echo "ok closed streams hang nothing" || echo "not ok closed streams hang nothing"
grep -q "outputs equal" "$work/stub.json" && echo "not ok the stub's record claims no checks it did not make" ||
    echo "ok the stub's record claims no checks it did not make"

own=$(cd "$(dirname "$0")/../.." && pwd)/deps/lib/libwgpu_native.so
if [ -e "$own" ]; then
    expect "a library by its path" 0 "wgpu:libwgpu_native.so" "$SOLO" info --impl "$own"
else
    echo "skip a library by its path (no deps/lib here)"
fi

expect "info" 0 "workgroups of 256 threads resident at once" "$SOLO" info
expect "info as JSON" 0 '"resident_workgroups"' "$SOLO" info --json --impl dawn
python3 -m json.tool <"$work/out" >/dev/null 2>&1 && echo "ok info's JSON is JSON" || echo "not ok info's JSON is JSON"
if "$SOLO" info --json --impl dawn | grep -q '"adapter_type": "software"'; then
    expect "a GPU asked for, software found" 3 "a GPU was asked for" "$SOLO" bench dispatch --impl dawn --adapter gpu
    expect "a GPU asked for of all, software found" 3 "a GPU was asked for" "$SOLO" bench dispatch --adapter gpu
    expect "demo" 0 "WHAT ONE DISPATCH COSTS" "$SOLO" demo
    grep -q "^Once upon a time " "$work/out" && [ "$(grep -c "^  --fuse none " "$work/out")" -eq 4 ] &&
        [ "$(grep -c "^  --fuse ops " "$work/out")" -eq 4 ] && grep -q "^  --fuse token " "$work/out" &&
        grep -q "^  --fuse loop " "$work/out" && echo "ok demo tells a story and shows the ladder" ||
        echo "not ok demo tells a story and shows the ladder"
else
    echo "skip a GPU asked for, software found (there is a GPU)"
fi

# The record of a real run on everything set up here, checked from outside.
expect "bench writes its record" 0 "WHAT OTHERS SAID" \
    "$SOLO" bench dispatch --impl dawn,wgpu,vulkan,stub --quick --rounds 4 --processes 2 --seed 7 --json "$work/r.json"
python3 "$(dirname "$0")/check_record.py" "$work/r.json"
expect "bench to standard output" 0 '"schema": "solo-record-1"' \
    "$SOLO" bench dispatch --impl vulkan,stub --quick --rounds 2 --json -
python3 -m json.tool <"$work/out" >/dev/null 2>&1 && echo "ok --json - prints nothing but the record" ||
    echo "not ok --json - prints nothing but the record"
expect "report of a real record" 0 "" "$SOLO" report "$work/r.json" -o "$work/r.html"
grep -q "</html>" "$work/r.html" && echo "ok the report is a page" || echo "not ok the report is a page"
expect "a record compared with itself" 0 "cannot tell" "$SOLO" compare "$work/r.json" "$work/r.json"
