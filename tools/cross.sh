#!/bin/sh
# cross.sh TARGET...: build/cross/TARGET/solo for linux-arm64, macos-arm64 or macos-x64, on Debian for x86-64. What it needs goes
# into build/cross: Zig (PyPI, pinned), Debian's jansson and SQLite for ARM, jansson's source for macOS, which has an
# SQLite of its own. TEST=1: linux-arm64's unit tests under qemu-aarch64, too.
set -eu
cd "$(dirname "$0")/.."
cross=$PWD/build/cross
say() { echo "cross: $*"; }
die() { echo "cross: $*" >&2; exit 1; }
[ $# -gt 0 ] || die "which of linux-arm64, macos-arm64, macos-x64?"
command -v apt-get >/dev/null || die "apt-get is not here: Debian's packages are needed"
mkdir -p "$cross"
log=$cross/log
logged() { "$@" >"$log" 2>&1 || die "$1 failed: $(tail -n 1 "$log") (all of it: $log)"; }

get_zig() {
    [ ! -x "$cross/zig/ziglang/zig" ] || return 0
    say "fetching Zig (pip)"
    logged python3 -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
        -r tools/requirements-cross.txt -d "$cross/wheel"
    logged python3 -m zipfile -e "$cross"/wheel/ziglang-*.whl "$cross/zig"
    chmod +x "$cross/zig/ziglang/zig"
}

# The headers of Debian's libraries that are the same everywhere; of the compiler's own folders nothing.
get_headers() {
    mkdir -p "$cross/include"
    for name in jansson.h jansson_config.h sqlite3.h microhttpd.h vulkan vk_video curl cmocka.h; do
        for folder in /usr/include "/usr/include/$(gcc -print-multiarch)"; do
            [ ! -e "$folder/$name" ] || ln -sfn "$folder/$name" "$cross/include/$name"
        done
    done
    [ -e "$cross/include/jansson.h" ] || die "Debian's headers are missing: make setup brings them"
}

# apt_get ARCHITECTURE WORD...: apt-get with lists of its own, so that this system's stay as they are
apt_get() {
    of=$1
    shift
    mkdir -p "$cross/apt/$of/lists/partial" "$cross/apt/$of/cache/archives/partial" "$cross/apt/sources"
    if [ "$of" = source ]; then
        sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/debian.sources >"$cross/apt/sources/debian.sources"
        set -- -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$cross/apt/sources" "$@"
    else
        set -- -o "APT::Architecture=$of" -o "APT::Architectures=$of" -o Dir::State::status=/dev/null "$@"
    fi
    logged apt-get -q -o "Dir::State::Lists=$cross/apt/$of/lists" -o "Dir::Cache=$cross/apt/$of/cache" -o APT::Sandbox::User=root "$@"
}

get_arm_libraries() {
    [ ! -e "$cross/arm64/.done" ] || return 0
    say "fetching Debian's libraries for arm64"
    apt_get arm64 update
    mkdir -p "$cross/arm64"
    (cd "$cross/arm64" && apt_get arm64 download libjansson-dev libsqlite3-dev libcmocka-dev libcmocka0)
    for package in "$cross"/arm64/*.deb; do dpkg-deb -x "$package" "$cross/arm64"; done
    : >"$cross/arm64/.done"
}

get_jansson_source() {
    [ ! -e "$cross/jansson/.done" ] || return 0
    say "fetching jansson's source (Debian)"
    apt_get source update
    mkdir -p "$cross/jansson"
    (cd "$cross/jansson" && apt_get source source --download-only jansson && tar xzf jansson_*.orig.tar.gz --strip-components=1)
    # what its configure script finds on macOS
    for name in HAVE_STDINT_H HAVE_SYS_TIME_H HAVE_SYS_TYPES_H HAVE_UNISTD_H HAVE_FCNTL_H HAVE_GETTIMEOFDAY HAVE_GETPID HAVE_OPEN HAVE_READ \
        HAVE_CLOSE HAVE_LOCALECONV HAVE_STRTOLL USE_URANDOM; do echo "#define $name 1"; done >"$cross/jansson/src/jansson_private_config.h"
    echo '#define INITIAL_HASHTABLE_ORDER 3' >>"$cross/jansson/src/jansson_private_config.h"
    : >"$cross/jansson/.done"
}

# zig_cc TARGET: a compiler by one name, as make wants it
zig_cc() {
    printf '#!/bin/sh\nexec "%s" cc -target %s "$@"\n' "$cross/zig/ziglang/zig" "$1" >"$cross/$target/cc"
    chmod +x "$cross/$target/cc"
    export ZIG_GLOBAL_CACHE_DIR="$cross/zig-cache" ZIG_LOCAL_CACHE_DIR="$cross/zig-cache"
}

jansson_archive() {
    [ ! -e "$cross/$target/libjansson.a" ] || return 0
    (cd "$cross/$target" && for source in "$cross"/jansson/src/*.c; do
        logged ./cc -O2 -fPIC -DHAVE_CONFIG_H -I "$cross/jansson/src" -I "$cross/include" -c "$source" -o "jansson_$(basename "$source" .c).o"
    done && logged "$cross/zig/ziglang/zig" ar rcs libjansson.a jansson_*.o)
}

# macOS has SQLite; what a linker has to know of it is its name and those functions that are called
sqlite_stub() {
    {
        printf -- '--- !tapi-tbd\ntbd-version: 4\ntargets: [ %s-macos ]\ninstall-name: /usr/lib/libsqlite3.dylib\nexports:\n  - targets: [ %s-macos ]\n    symbols: [ ' "$1" "$1"
        grep -ohE '\bsqlite3_[a-z0-9_]+\(' -r src/serve | tr -d '(' | sort -u | sed 's/^/_/' | paste -sd, | tr '\n' ' '
        printf ']\n...\n'
    } >"$cross/$target/libsqlite3.tbd"
}

# build SYSTEM WHAT... with the variables that differ
build() {
    system=$1
    shift
    say "building for $target"
    make --no-print-directory -s -j"${JOBS:-2}" SETUP=@: BUILD="build/cross/$target" SYSTEM="$system" CC="$cross/$target/cc" HOST_CC=cc \
        CPPFLAGS="-D_GNU_SOURCE -Iinclude -Isrc -Itests -Ideps/include -Ibuild/cross/$target/gen -I$cross/include" EDITLINE= "$@"
}

for target; do
    get_zig
    get_headers
    mkdir -p "$cross/$target"
    case $target in
        linux-arm64)
            get_arm_libraries
            zig_cc aarch64-linux-gnu.2.36
            libraries=$cross/arm64/usr/lib/aarch64-linux-gnu
            set_libraries="JANSSON=$libraries/libjansson.a SQLITE=$libraries/libsqlite3.a"
            # shellcheck disable=SC2086 # two words
            build linux $set_libraries "build/cross/$target/solo"
            file "$cross/$target/solo" | grep -q 'ARM aarch64' || die "$target: this is no program for it"
            if [ -n "${TEST:-}" ]; then
                command -v qemu-aarch64 >/dev/null || die "qemu-aarch64 is not here (apt-get install qemu-user libc6-arm64-cross)"
                programs=$(for test in ${TESTS:-tests/unit/test_*.c}; do echo "build/cross/$target/${test%.c}"; done)
                # shellcheck disable=SC2086 # lists of words
                build linux $set_libraries LDFLAGS="-L$libraries" $programs
                # shellcheck disable=SC2086
                sh tools/cross_test.sh "$libraries" $programs
            fi ;;
        macos-arm64 | macos-x64)
            get_jansson_source
            machine=aarch64
            [ "$target" = macos-arm64 ] || machine=x86_64
            zig_cc "$machine-macos"
            jansson_archive
            sqlite_stub "$(echo $machine | sed s/aarch64/arm64/)"
            build macos JANSSON="$cross/$target/libjansson.a" SQLITE="$cross/$target/libsqlite3.tbd" "build/cross/$target/solo"
            file "$cross/$target/solo" | grep -q 'Mach-O 64-bit' || die "$target: this is no program for it" ;;
        *) die "$target is none of linux-arm64, macos-arm64, macos-x64" ;;
    esac
    say "$(file "$cross/$target/solo" | sed "s|^$PWD/||" | cut -c 1-160)"
done
