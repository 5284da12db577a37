#!/bin/sh
# tools/setup.sh [build|run|web|test]: installs what is missing for building, running
# or testing (each includes the one before), and nothing else. Quick when nothing
# is missing. Interrupted, it can simply be run again.
#
# System packages come through apt-get (Debian, Ubuntu). Everything else goes into
# this folder, at pinned versions with checked hashes:
#     node_modules/                  naga (WGSL to SPIR-V, for the build); Dawn; tokenizers (for the tests)
#     deps/include/webgpu/           webgpu.h, wgpu.h
#     deps/lib/libwgpu_native.so     WebGPU by wgpu
#     deps/lib/libwebgpu_dawn.so     WebGPU by Dawn, a build of 2026 with matrix units (x86-64)
#     deps/lib/libwebgpu_dawn_2025.so    the same of 2025, from npm: used where the other is missing, and by tests
#     tests/oracle/node_modules/     llama.cpp's libraries, for the tests to compare with (x86-64)
#     deps/python/                   gymnasium and numpy, for the tests to compare simulations with
#
# tools/setup.sh driver: only the software Vulkan driver (needs root).
set -eu
cd "$(dirname "$0")/.."

goal=${1:-test}
case $goal in
    build | run | web | test | driver) ;;
    *) echo "usage: tools/setup.sh [build|run|web|test|driver]" >&2; exit 2 ;;
esac
PATH=$PATH:/usr/sbin:/sbin
cc=${CC:-cc}
wasm_cc=${WASM_CC:-clang-19}
arch=$(uname -m)
log=deps/setup.log

say() { echo "setup: $*"; }
die() { echo "setup: $*" >&2; exit 1; }

if [ "$goal" = driver ]; then
    log=$(mktemp) # run by root in someone else's folder: leaves nothing there
else
    mkdir -p deps
    if [ ! -w deps ] || { [ -e deps/.lock ] && [ ! -w deps/.lock ]; }; then
        die "deps/ belongs to another user: remove it, or set up as that user"
    fi
    rm -f "$log"
    if command -v flock >/dev/null; then # two set-ups at once would disturb each other
        exec 9>deps/.lock
        flock 9
    fi
fi

# logged WHAT COMMAND...: runs it quietly; if it fails, one line says what and why
logged() {
    what=$1
    shift
    if ! "$@" >"$log" 2>&1 9>&-; then
        why=$(grep -iE '^(E:|npm err(or|!)|error)' "$log" | head -n 1) || :
        die "$what failed: ${why:-$(tail -n 1 "$log")} (all of it: $log)"
    fi
}

# ---- what is here ------------------------------------------------------------

have() { command -v "$1" >/dev/null 2>&1; }

have_header() { echo "#include <$1>" | $cc -E -x c - >/dev/null 2>&1; }

have_library() {
    case "$libraries" in *"$1 "*) return 0 ;; esac
    for folder in $(echo "${LD_LIBRARY_PATH:-}" | tr : ' '); do
        [ ! -e "$folder/$1" ] || return 0
    done
    return 1
}

new_enough_mesa() { [ -n "$1" ] && dpkg --compare-versions "$1" ge "$oldest_mesa"; }

# Is there a Vulkan driver that Dawn accepts? It refuses Mesa before this one.
oldest_mesa=23.1
have_vulkan_driver() {
    [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ] || return 0
    if [ -e /dev/nvidiactl ]; then
        ! have_library libEGL_nvidia.so.0 || return 0
        ! have_library libGLX_nvidia.so.0 || return 0
    fi
    mesa=
    ! have dpkg-query || mesa=$(dpkg-query -W -f '${Version}\n' mesa-vulkan-drivers 2>/dev/null | head -n 1) || :
    for icd in /usr/share/vulkan/icd.d /usr/local/share/vulkan/icd.d /etc/vulkan/icd.d "${HOME:-}/.local/share/vulkan/icd.d"; do
        for file in "$icd"/*.json; do
            [ -e "$file" ] || continue
            case $(cat "$file") in
                *nvidia*) ;; # counted above, where its device is
                *libvulkan_*) # Mesa; not from a package: someone built it
                    if [ -z "$mesa" ] || new_enough_mesa "$mesa"; then return 0; fi ;;
                *) return 0 ;;
            esac
        done
    done
    return 1
}

npm_done() { # for $1 = build, run or test
    [ "$(cat "deps/.npm-$1" 2>/dev/null)" = "$npm_lock" ] && [ -e node_modules/naga-wasm/package.json ] || return 1
    [ "$1" != test ] || [ -e node_modules/tokenizers/package.json ] || return 1
    [ "$1" = build ] || [ "$arch" != x86_64 ] || [ -e deps/lib/libwebgpu_dawn_2025.so ]
}

dawn_done() { # what runs things needs it; it exists only for x86-64
    [ "$goal" = build ] || [ "$arch" != x86_64 ] ||
        { [ "$(cat deps/.dawn 2>/dev/null)" = "$dawn_lock" ] && [ -e deps/lib/libwebgpu_dawn.so ]; }
}

wgpu_done() {
    [ "$(cat deps/.wgpu 2>/dev/null)" = "$wgpu_lock" ] && [ -e deps/lib/libwgpu_native.so ] &&
        [ -e deps/include/webgpu/webgpu.h ] && [ -e deps/include/webgpu/wgpu.h ]
}

oracle_done() { # only the tests need it, and it exists only for x86-64
    [ "$goal" != test ] || [ "$arch" != x86_64 ] || [ "$(cat deps/.oracle 2>/dev/null)" = "$oracle_lock" ]
}

python_done() { # only the tests need it, and skip where it does not exist
    [ "$goal" != test ] || [ "$(cat deps/.python 2>/dev/null)" = "$python_lock" ]
}

templates_done() { # the same
    [ "$goal" != test ] || [ "$(cat deps/.templates 2>/dev/null)" = "$templates_lock" ]
}

checksum() { cat "$@" | sha256sum | cut -d ' ' -f 1; }

npm_part=$goal
[ "$goal" != web ] || npm_part="test" # wasm-opt is among what the tests use
npm_lock=$(checksum package.json package-lock.json)
oracle_lock=$(checksum tests/oracle/package.json tests/oracle/package-lock.json)
python_lock=$(checksum tests/oracle/requirements.txt)
templates_lock=$(checksum tests/oracle/templates.txt tests/oracle/unpack_templates.py)
wgpu_lock=$(echo "$arch" | checksum tools/requirements.txt -)
dawn_lock=$(checksum tools/requirements-dawn.txt)
libraries=$(ldconfig -p 2>/dev/null | awk '{ printf "%s ", $1 }') || libraries=

packages='' need_driver=''
want() { packages="$packages $*"; }
optional=
want_if_offered() { optional="$optional $*"; }

if [ "$goal" != driver ]; then
    if ! have "${cc%% *}"; then # CC may be several words: ccache gcc
        [ "$cc" = cc ] || die "the compiler CC=$cc is not here"
        want gcc
    fi
    have_header stdio.h || want libc6-dev
    have_header jansson.h || want libjansson-dev
    have_header histedit.h || want libedit-dev
    have_header vulkan/vulkan.h || want libvulkan-dev
    have_header microhttpd.h || want libmicrohttpd-dev
    have_header curl/curl.h || want libcurl4-openssl-dev
    have_header sqlite3.h || want libsqlite3-dev
    have node || want nodejs
    { npm_done "$npm_part" && oracle_done; } || have npm || want npm
    if { ! wgpu_done || ! dawn_done; } && ! { have python3 && python3 -m pip --version >/dev/null 2>&1; } &&
        ! /usr/bin/python3 -m pip --version >/dev/null 2>&1; then
        want python3 python3-pip
    fi
    if { ! npm_done "$npm_part" || ! oracle_done || ! wgpu_done || ! dawn_done; } && [ ! -e /etc/ssl/certs/ca-certificates.crt ]; then
        want ca-certificates
    fi
fi
case $goal in run | test)
    have_library libvulkan.so.1 || want libvulkan1
    have_library libstdc++.so.6 || want libstdc++6 ;;
esac
case $goal in run | test | driver)
    have_vulkan_driver || need_driver=yes ;;
esac
case $goal in web | test) # C as wasm
    have "${wasm_cc##* }" || want clang-19
    have wasm-ld-19 || have wasm-ld || want lld-19
    [ -e /usr/include/wasm32-wasi/stdio.h ] || want wasi-libc
    ls /usr/lib/llvm-19/lib/clang/*/lib/wasi/libclang_rt.builtins-wasm32.a >/dev/null 2>&1 || want libclang-rt-19-dev-wasm32 ;;
esac
if [ "$goal" = test ]; then
    have_header cmocka.h || want libcmocka-dev
    have clang-format || want clang-format # both for tools/lint.sh
    have shellcheck || want shellcheck
    # the page is tried in real browsers where they can be had; without one its tests are skipped
    have chromium || want_if_offered chromium
    have firefox-esr || have firefox || want_if_offered firefox-esr
fi

# ---- system packages ---------------------------------------------------------

apt_get() {
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"
}

mesa_versions() { apt-cache madison mesa-vulkan-drivers | awk '{ print $3 }'; }

add_backports() {
    file=$($sudo sh tools/backports.sh "$1") || die "install mesa-vulkan-drivers $oldest_mesa or newer by hand"
    say "added the apt source $1-backports ($file)"
    logged "apt-get update" apt_get update
}

install_driver() {
    candidate=$(apt-cache policy mesa-vulkan-drivers | awk '$1 == "Candidate:" { print $2 }')
    if new_enough_mesa "$candidate"; then
        say "installing the software Vulkan driver: mesa-vulkan-drivers"
        logged "apt-get install mesa-vulkan-drivers" apt_get install --no-install-recommends mesa-vulkan-drivers
        return
    fi
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    newest() { mesa_versions | while read -r v; do ! new_enough_mesa "$v" || { echo "$v"; break; }; done; }
    [ -n "$(newest)" ] || add_backports "$codename"
    [ -n "$(newest)" ] || die "no mesa-vulkan-drivers $oldest_mesa or newer in this machine's package sources"
    say "installing the software Vulkan driver: mesa-vulkan-drivers $(newest)"
    logged "apt-get install mesa-vulkan-drivers" apt_get install --no-install-recommends -t "$codename-backports" mesa-vulkan-drivers
}

if [ -n "$packages$need_driver" ]; then
    have apt-get || die "missing (Debian's names, install them with this system's package manager):$packages${need_driver:+ mesa-vulkan-drivers}"
    sudo=
    if [ "$(id -u)" -ne 0 ]; then
        if have sudo && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
            sudo=sudo
        else
            {
                echo "setup: system packages are missing, and installing them needs root. As root, in this folder, run:"
                [ -z "$packages" ] || echo "    apt-get update && apt-get install -y --no-install-recommends$packages"
                [ -z "$need_driver" ] || echo "    sh tools/setup.sh driver"
            } >&2
            exit 1
        fi
    fi
    say "reading the package lists"
    logged "dpkg --configure -a" $sudo env DEBIAN_FRONTEND=noninteractive dpkg --configure -a
    apt_get -o APT::Update::Error-Mode=any update >"$log" 2>&1 9>&- ||
        say "apt-get update: $(grep -m 1 '^[EW]:' "$log"); going on with the lists that are here"
    if [ -n "$packages" ]; then
        say "installing$packages"
        # shellcheck disable=SC2086 # a list of words
        logged "apt-get install$packages" apt_get install --no-install-recommends $packages
    fi
    [ -z "$need_driver" ] || install_driver
fi
# Browsers are large and need root: had where that is easy, and done without where not, once.
if [ -n "$optional" ] && [ "$(id -u)" -eq 0 ] && have apt-get && [ ! -e deps/.browsers ]; then
    sudo=
    say "installing browsers for the tests:$optional"
    apt_get update >"$log" 2>&1 9>&- || :
    # shellcheck disable=SC2086
    apt_get install --no-install-recommends $optional >"$log" 2>&1 9>&- || say "without$optional: $(grep -m 1 '^E:' "$log" || echo 'not to be had here')"
    : >deps/.browsers
fi
# The same of a database server for the tests of `solo collect`, which start one of their own: none is made or run here.
if [ "$goal" = test ] && [ ! -d /usr/lib/postgresql ] && [ "$(id -u)" -eq 0 ] && have apt-get && [ ! -e deps/.postgresql ]; then
    sudo=
    say "installing PostgreSQL for the tests"
    no_cluster=/etc/postgresql-common/createcluster.d/solo-setup.conf
    mkdir -p "${no_cluster%/*}"
    echo 'create_main_cluster = false' >"$no_cluster"
    apt_get update >"$log" 2>&1 9>&- || :
    apt_get install --no-install-recommends postgresql libpq5 >"$log" 2>&1 9>&- ||
        say "without PostgreSQL: $(grep -m 1 '^E:' "$log" || echo 'not to be had here')"
    rm -f "$no_cluster"
    : >deps/.postgresql
fi
[ "$goal" != driver ] || exit 0

# ---- what goes into this folder ----------------------------------------------
# Each part is made in a temporary place and moved when complete; its stamp,
# written last, holds the checksum of the file that pins it.

temporary=
trap '[ -z "$temporary" ] || rm -rf "$temporary"' EXIT
trap 'exit 130' INT TERM

if ! npm_done "$npm_part"; then
    rm -f deps/.npm-build deps/.npm-run deps/.npm-test
    case $npm_part in
        build) say "installing naga-wasm (npm)"; omit="--omit=optional --omit=dev" ;;
        run) say "installing naga-wasm and Dawn (npm)"; omit=--omit=dev ;;
        test) say "installing naga-wasm, Dawn, and tokenizers to compare with (npm)"; omit= ;;
    esac
    # shellcheck disable=SC2086
    logged "npm ci" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error $omit
    if [ "$npm_part" != build ]; then
        dawn=node_modules/bun-webgpu-linux-x64/libwebgpu_wrapper.so
        if [ -e "$dawn" ]; then
            mkdir -p deps/lib
            cp "$dawn" deps/lib/.libwebgpu_dawn_2025.so
            mv deps/lib/.libwebgpu_dawn_2025.so deps/lib/libwebgpu_dawn_2025.so
        elif [ "$arch" = x86_64 ]; then
            die "npm ci left out Dawn (bun-webgpu-linux-x64): is the network there?"
        else
            say "no Dawn for $arch: wgpu-native alone will be used"
        fi
        echo "$npm_lock" >deps/.npm-run
        [ "$npm_part" != test ] || echo "$npm_lock" >deps/.npm-test
    fi
    echo "$npm_lock" >deps/.npm-build
fi

if ! oracle_done; then
    say "installing llama.cpp's libraries, to compare with (npm)"
    logged "npm ci (tests/oracle)" npm ci --prefix tests/oracle --ignore-scripts --no-audit --no-fund --loglevel=error
    if [ -e tests/oracle/node_modules/@node-llama-cpp/linux-x64/package.json ]; then
        echo "$oracle_lock" >deps/.oracle
    else
        say "npm ci left out llama.cpp's libraries: the tests do without"
    fi
fi

if ! wgpu_done; then
    case $arch in
        x86_64 | aarch64) ;;
        *) die "no wgpu-native for $arch (x86_64 and aarch64 only)" ;;
    esac
    say "installing wgpu-native and webgpu.h (pip)"
    python=python3
    python3 -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
    rm -rf deps/.new.*
    temporary=$(mktemp -d deps/.new.XXXXXX)
    logged "pip download" "$python" -m pip download --disable-pip-version-check --no-deps --require-hashes \
        --only-binary=:all: --platform "manylinux_2_28_$arch" --python-version 3.12 \
        -r tools/requirements.txt -d "$temporary"
    logged "unpacking wgpu-native" "$python" -m zipfile -e "$temporary"/wgpu-*.whl "$temporary"
    mkdir -p deps/lib deps/include/webgpu
    # wgpu.h includes "webgpu.h": the two stay side by side
    mv "$temporary/wgpu/resources/libwgpu_native-release.so" deps/lib/libwgpu_native.so
    mv "$temporary/wgpu/resources/webgpu.h" "$temporary/wgpu/resources/wgpu.h" deps/include/webgpu/
    echo "$wgpu_lock" >deps/.wgpu
fi

if ! dawn_done; then
    say "installing a newer Dawn, with matrix units (pip)"
    python=python3
    python3 -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
    rm -rf deps/.new.*
    temporary=$(mktemp -d deps/.new.XXXXXX)
    if "$python" -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --python-version 3.12 \
        -r tools/requirements-dawn.txt -d "$temporary" >"$log" 2>&1 9>&- &&
        "$python" -m zipfile -e "$temporary"/litert_lm_api-*.whl "$temporary" >>"$log" 2>&1; then
        mkdir -p deps/lib
        mv "$temporary/litert_lm/liblitert-lm.so" deps/lib/libwebgpu_dawn.so
        echo "$dawn_lock" >deps/.dawn
    else
        say "no newer Dawn: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log"); the one of 2025 does"
    fi
    rm -rf "$temporary"
    temporary=
fi

if ! python_done; then
    say "installing gymnasium, numpy and Jinja2, to compare with (pip)"
    python=python3
    python3 -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
    rm -rf deps/.python-new deps/python
    if "$python" -m pip install --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: --no-compile \
        --target deps/.python-new -r tests/oracle/requirements.txt >"$log" 2>&1 9>&-; then
        mv deps/.python-new deps/python
        echo "$python_lock" >deps/.python
    else
        rm -rf deps/.python-new
        say "pip install: $(grep -m 1 '^ERROR' "$log" || tail -n 1 "$log"); the tests do without"
    fi
fi

if ! templates_done; then
    say "fetching published chat templates, to try (pip, npm)"
    python=python3
    python3 -m pip --version >/dev/null 2>&1 || python=/usr/bin/python3
    rm -rf deps/.new.* deps/templates
    temporary=$(mktemp -d deps/.new.XXXXXX)
    if "$python" -m pip download --disable-pip-version-check --no-deps --require-hashes --only-binary=:all: \
        -r tests/oracle/templates.txt -d "$temporary" >"$log" 2>&1 9>&- &&
        npm pack --ignore-scripts --pack-destination "$temporary" "$("$python" tests/oracle/unpack_templates.py --package)" >>"$log" 2>&1 9>&- &&
        "$python" tests/oracle/unpack_templates.py "$temporary" "$temporary/templates" >>"$log" 2>&1 9>&-; then
        mv "$temporary/templates" deps/templates
        echo "$templates_lock" >deps/.templates
    else
        say "no chat templates: $(tail -n 1 "$log"); the tests do without"
    fi
    rm -rf "$temporary"
    temporary=
fi
