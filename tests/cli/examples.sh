#!/bin/sh
# The libraries: what they export and need, and examples/ built against an installed copy and run from elsewhere.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
build=$(dirname "$SOLO") root=$PWD cc=${CC:-cc}

report() { if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; [ -f "$work/log" ] && sed 's/^/# /' "$work/log"; fi; }

case $build in *build-san) echo "skip examples: programs without the sanitizers cannot use a library that has them"; exit 0 ;; esac
command -v pkg-config >/dev/null || { echo "skip examples: pkg-config is not here"; exit 0; }

# ---- the libraries ----
: >"$work/log"
nm -D --defined-only "$build/libsolo.so.0" | awk '{ print $NF }' | grep -v '^solo_' >"$work/log"
nm -g --defined-only "$build/libsolo.a" | awk 'NF == 3 { print $3 }' | grep -v '^solo_' >>"$work/log"
[ ! -s "$work/log" ]; report $? "the libraries export solo_* and nothing else"

# (in a Turkish locale [a-z] has no i)
LC_ALL=C sed -n 's/.*[ *]\(solo_[a-z_]*\)(.*/\1/p' include/solo.h | sort -u >"$work/declared"
for library in "-D $build/libsolo.so.0" "-g $build/libsolo.a"; do
    # shellcheck disable=SC2086 # an option and a file
    nm --defined-only $library | awk 'NF == 3 { print $3 }' | sort -u >"$work/exported"
    # a name in a comment of the header counts as declared, a type of a callback does not have to be exported
    comm -3 "$work/declared" "$work/exported" | grep -v '^solo_on_text\|^solo_progress' >"$work/log"
    [ ! -s "$work/log" ]; report $? "$(basename "${library#* }") has all that solo.h declares, and no more"
done

readelf -d "$build/libsolo.so.0" >"$work/log"
grep -q 'SONAME.*\[libsolo.so.0\]' "$work/log" && ! grep NEEDED "$work/log" | grep -q 'edit\|tinfo'
report $? "libsolo.so.0 has its name and needs no line editor"

# ---- an installed copy ----
make -s install DESTDIR="$work/root" >"$work/log" 2>&1; report $? "make install"
prefix=$(dirname "$(dirname "$(find "$work/root" -name solo -path '*/bin/*')")")
mkdir "$work/elsewhere" && cd "$work/elsewhere" || exit 1
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig" SOLO_CACHE="$work/cache"
for name in chat logits embed graph sim; do
    # shellcheck disable=SC2046 # several options
    $cc -std=c11 -Wall -Wextra -Werror "$root/examples/$name.c" $(pkg-config --cflags --libs solo) -lm -o "$name" >"$work/log" 2>&1
    report $? "examples/$name.c is built with pkg-config"
    [ "$(wc -l <"$root/examples/$name.c")" -lt 60 ]; report $? "examples/$name.c has less than 60 lines"
done

shared() { LD_LIBRARY_PATH="$prefix/lib" "$@" 2>"$work/log"; }
printf 'Once upon a time\nThe king\n' | shared ./chat >chat.txt
report $? "chat"
[ "$(grep -c ' tokens, .* a second]$' chat.txt)" -eq 2 ] && [ "$(wc -c <chat.txt)" -gt 100 ]
report $? "chat answers twice"
shared ./logits "Once upon a" >logits.txt
head -n 1 logits.txt | grep -q '%.*" time"' && [ "$(wc -l <logits.txt)" -eq 5 ]
report $? "logits knows what comes upon a"
shared ./graph >graph.txt
[ "$(wc -l <graph.txt)" -eq 5 ] && [ "$(sed 's/.*run, //' graph.txt | sort -u | wc -l)" -eq 1 ]
report $? "graph gives the same at every level"
shared ./sim | grep -q '^after 500 steps the mean height is 0\.[0-9]*$'
report $? "sim"
shared ./embed "$root/tests/data/embeddings/bert-mean" "the fox" "the fox" "hello world" >embed.txt
[ "$(wc -l <embed.txt)" -eq 2 ] && head -n 1 embed.txt | grep -q '^1\.0000 the fox$' && tail -n 1 embed.txt | grep -q '^0\.[0-9]* hello'
report $? "embed: a text is most similar to itself"

sed -n '/^#include <solo.h>/,/^}/p' "$root/docs/api.md" >ten.c
# shellcheck disable=SC2046 # several options
[ "$(wc -l <ten.c)" -le 12 ] && $cc -std=c11 -Wall -Wextra -Werror ten.c $(pkg-config --cflags --libs solo) -o ten >"$work/log" 2>&1 &&
    echo "Once upon a time" | shared ./ten | LC_ALL=C grep -q '[a-z] [a-z]'
report $? "the program of docs/api.md chats"

# shellcheck disable=SC2046 # several options
$cc -std=c11 -I"$prefix/include" "$root/examples/sim.c" "$prefix/lib/libsolo.a" \
    $(pkg-config --static --libs-only-l solo | sed 's/-lsolo//') -o static >"$work/log" 2>&1 &&
    SOLO_DAWN="$prefix/lib/solo/libwebgpu_dawn.so" ./static >static.txt 2>"$work/log" && shared ./sim | cmp -s - static.txt
report $? "the archive does the same, with the Dawn that SOLO_DAWN names"

"$prefix/bin/solo" run -p "Once upon a time" -n 2 >run.txt 2>"$work/log" && grep -q '^Once upon a time' run.txt
report $? "the installed program runs"
cd "$root" && make -s uninstall DESTDIR="$work/root" >"$work/log" 2>&1
find "$work/root" ! -type d >>"$work/log"
[ ! -s "$work/log" ]; report $? "make uninstall takes all of it away"
