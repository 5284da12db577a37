#!/bin/sh
# What the compiler and the linker put into the program and the library against mistakes in memory (HARDENED in the Makefile).
# Not with sanitizers, and on Linux only.
export LC_ALL=C # readelf speaks many languages
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$(dirname "$SOLO")
case $(basename "$build") in build-*) echo "ok (with sanitizers the program is not hardened)"; exit 0 ;; esac
if [ "$(uname -s)" != Linux ] || ! command -v readelf >/dev/null; then
    echo "ok (no readelf, or not Linux)"
    exit 0
fi
check() { # NAME: did the command before it end well?
    if [ $? -eq 0 ]; then echo "ok $1"; else echo "not ok $1"; fi
}
has() { # FILE OPTION TEXT: does readelf print it?
    readelf -W "$2" "$1" 2>/dev/null | grep -qE -- "$3"
}
has "$SOLO" -h 'Type: +DYN' && has "$SOLO" -d 'FLAGS_1.* PIE'
check "the program lies at a random address"
for file in "$SOLO" "$build/libsolo.so.0"; do
    name=$(basename "$file")
    has "$file" -l GNU_RELRO && has "$file" -d 'BIND_NOW|FLAGS.* NOW'
    check "$name: tables of the linker cannot be written"
    has "$file" -l 'GNU_STACK .* RW ' && ! has "$file" -l '(LOAD|GNU_STACK) .* RWE '
    check "$name: nothing can be written and run"
    has "$file" --dyn-syms '__stack_chk_fail'
    check "$name: the end of a stack frame is checked"
done
# other libraries that are in the program could have brought these calls: an object of our own
readelf -W --syms "$build/src/cli/main.o" "$build/src/hub/name.o" "$build/src/base/str.o" "$build/src/model/chat.o" 2>/dev/null | grep -q '__[a-z]*_chk$'
check "copies of known size are checked"
[ "$(find "$root/src" -name '*.c' -exec grep -lE 'alloca *\(' {} + | wc -l)" -eq 0 ]
check "no stack frame has a size that input chooses"
