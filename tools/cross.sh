#!/bin/sh
# cross.sh TARGET...: build/cross/TARGET/solo for linux-arm64, macos-arm64, macos-x64 or windows-x64, on Debian for x86-64. What
# it needs goes into build/cross: Zig (PyPI, pinned), Debian's jansson and SQLite for ARM, jansson's source for the others
# (macOS has an SQLite of its own, on Windows nothing needs one), cmocka's for tests on Windows. TEST=1: unit tests of
# linux-arm64 under qemu-aarch64, of windows-x64 under wine64, too.
set -eu
cd "$(dirname "$0")/.."
cross=$PWD/build/cross
say() { echo "cross: $*"; }
die() { echo "cross: $*" >&2; exit 1; }
[ $# -gt 0 ] || die "which of linux-arm64, macos-arm64, macos-x64, windows-x64?"
command -v apt-get >/dev/null || die "apt-get is not here: Debian's packages are needed"
mkdir -p "$cross"
log=$cross/log
windows_dawn_sha512=cef9d4978100b106cab26655bbe94425c1fc6b143b32209faa0d8e9a71ddeaec354c7001987697d066e92a21ec85d81a74d37635ffb8cc3c93241e5831c01dac
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

# get_source PACKAGE: Debian's source of it, as its authors published it
get_source() {
    [ ! -e "$cross/$1/.done" ] || return 0
    say "fetching $1's source (Debian)"
    apt_get source update
    mkdir -p "$cross/$1"
    (cd "$cross/$1" && apt_get source source --download-only "$1" && tar xf "$1"_*.orig.tar.?z --strip-components=1)
    : >"$cross/$1/.done"
}

# jansson_source RANDOM: with what its configure script finds on macOS and Windows; where random numbers come from differs
jansson_source() {
    get_source jansson
    mkdir -p "$cross/$target/include"
    for name in HAVE_STDINT_H HAVE_SYS_TIME_H HAVE_SYS_TYPES_H HAVE_UNISTD_H HAVE_FCNTL_H HAVE_GETTIMEOFDAY HAVE_GETPID HAVE_OPEN HAVE_READ \
        HAVE_CLOSE HAVE_LOCALECONV HAVE_STRTOLL "$1"; do echo "#define $name 1"; done >"$cross/$target/include/jansson_private_config.h"
    echo '#define INITIAL_HASHTABLE_ORDER 3' >>"$cross/$target/include/jansson_private_config.h"
}

# zig_cc TARGET: a compiler by one name, as make wants it (which asks for its version: for macOS, Zig would write ./a.o then)
zig_cc() {
    # shellcheck disable=SC2016 # for the shell that runs it
    printf '#!/bin/sh\n[ "$1" != --version ] || { echo "clang of Zig"; exit; }\nexec "%s" cc -target %s "$@"\n' "$cross/zig/ziglang/zig" "$1" >"$cross/$target/cc"
    chmod +x "$cross/$target/cc"
    export ZIG_GLOBAL_CACHE_DIR="$cross/zig-cache" ZIG_LOCAL_CACHE_DIR="$cross/zig-cache"
}

jansson_archive() {
    [ ! -e "$cross/$target/libjansson.a" ] || return 0
    (cd "$cross/$target" && for source in "$cross"/jansson/src/*.c; do
        logged ./cc -O2 -fPIC -DHAVE_CONFIG_H -I "$cross/$target/include" -I "$cross/jansson/src" -I "$cross/include" -c "$source" -o "jansson_$(basename "$source" .c).o"
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

build_windows() {
    build windows CFLAGS="-O2 -g -std=gnu11 -D_POSIX -D_POSIX_C_SOURCE=200809L -D_FILE_OFFSET_BITS=64 -I$ours" LDFLAGS="-L$cross/$target -Wl,--stack,8388608" \
        LDLIBS="$ours/solo.rc $cross/$target/libjansson.a -lpthread -ladvapi32" "$@"
}

# Dawn of 2025 for Windows, beside the program (npm, pinned)
windows_dawn() {
    [ ! -e "$cross/$target/webgpu_dawn_2025.dll" ] || return 0
    say "fetching Dawn for Windows (npm)"
    (cd "$cross/$target" && logged npm pack --ignore-scripts bun-webgpu-win32-x64@0.1.5)
    package=$cross/$target/bun-webgpu-win32-x64-0.1.5.tgz
    echo "$windows_dawn_sha512  $package" | logged sha512sum -c -
    tar xzf "$package" -C "$cross/$target" package/webgpu_wrapper.dll
    mv "$cross/$target/package/webgpu_wrapper.dll" "$cross/$target/webgpu_dawn_2025.dll"
}

# Unit tests under wine, but for those that fork, set a locale (programs leave it alone there), or need what is not part of the
# program there.
test_windows() {
    wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
    [ -x "$wine" ] || die "wine64 is not here (apt-get install wine64)"
    get_source cmocka
    [ -e "$cross/$target/libcmocka.a" ] || (cd "$cross/$target" &&
        logged ./cc -O2 -DHAVE_MALLOC_H -DHAVE_STRUCT_TIMESPEC -I "$cross/cmocka/include" -c "$cross/cmocka/src/cmocka.c" -o cmocka.o &&
        logged "$cross/zig/ziglang/zig" ar rcs libcmocka.a cmocka.o)
    # shellcheck disable=SC2086 # a list of words
    programs=$(grep -LE '(sys/(wait|socket|resource)|locale)\.h|symlink\(|blob_folder\.h|"serve/(http|collect_rate)' ${TESTS:-tests/unit/test_*.c} | sed "s|^|build/cross/$target/|;s|\\.c\$||")
    # shellcheck disable=SC2086 # lists of words
    build_windows $programs
    export WINEPREFIX="$cross/wine" WINEDEBUG=-all LC_ALL=C.UTF-8
    # shellcheck disable=SC2086
    sh tools/cross_test.sh "$wine" $programs
    SOLO=$PWD/build/solo WINE=$wine sh tests/run.sh tests/cross/windows.sh
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
                sh tools/cross_test.sh "qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$libraries" $programs
            fi ;;
        macos-arm64 | macos-x64)
            jansson_source USE_URANDOM
            machine=aarch64
            [ "$target" = macos-arm64 ] || machine=x86_64
            zig_cc "$machine-macos"
            jansson_archive
            sqlite_stub "$(echo $machine | sed s/aarch64/arm64/)"
            build macos JANSSON="$cross/$target/libjansson.a" SQLITE="$cross/$target/libsqlite3.tbd" "build/cross/$target/solo"
            file "$cross/$target/solo" | grep -q 'Mach-O 64-bit' || die "$target: this is no program for it" ;;
        windows-x64)
            jansson_source USE_WINDOWS_CRYPTOAPI
            zig_cc x86_64-windows-gnu
            jansson_archive
            ours=src/base/os_windows
            build_windows "build/cross/$target/solo"
            ln -f "$cross/$target/solo" "$cross/$target/solo.exe"
            file "$cross/$target/solo" | grep -q 'PE32+ executable' || die "$target: this is no program for it"
            windows_dawn
            [ -z "${TEST:-}" ] || test_windows ;;
        *) die "$target is none of linux-arm64, macos-arm64, macos-x64, windows-x64" ;;
    esac
    say "$(file "$cross/$target/solo" | sed "s|^$PWD/||" | cut -c 1-160)"
done
