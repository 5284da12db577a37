#!/bin/bash
# bench/pack_web.sh runtime [-o FOLDER] [-s MIB]    Chromium, Node and their libraries, in pieces of at most MIB
# bench/pack_web.sh solo [-o FOLDER]                what changes with the sources: solo, the page, and what measures them
#
# To measure in Chromium (bench/web_gpu.mjs) on a machine that has a GPU and its driver, but no packages and no network. Afterwards FOLDER
# (default: build/packed) has runtime.0, runtime.1 ... and solo.tar.xz. All of them into one folder on that machine, beside a checkout, and there:
#
#     bench/packed_web.sh FOLDER RESULTS [words for web_gpu.mjs]
#
# Wants what `make test` installs (Chromium, Node, playwright-core), and for solo `make build web`. A few minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/packing.inc
what=${1:-}
[ $# -gt 0 ] && shift
pack_options "$@"

# what the C library's own packages hold comes from the other machine
glibc='^(ld-linux.*|lib(c|m|pthread|dl|rt|resolv|util|anl|mvec|nsl|nss_[a-z]*|thread_db|BrokenLocale|c_malloc_debug))\.so'
# closure FILE...: the libraries that they need
closure() {
    ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $3 == "not" { print "missing: " $0 > "/dev/stderr"; bad = 1 } END { exit bad }' | sort -u |
        while read -r path; do [[ $(basename "$path") =~ $glibc ]] || echo "$path"; done
}

runtime() {
    local from=/usr/lib/chromium system=/usr/lib/x86_64-linux-gnu to=$work/root loaded
    mkdir -p "$to"/{bin,lib,chromium/locales,fonts}
    # Chromium, as tests/web/browsers.mjs makes it
    cp -L "$from"/{chromium,chrome_crashpad_handler,chrome_100_percent.pak,chrome_200_percent.pak,icudtl.dat,libEGL.so,libGLESv2.so,libvulkan.so.1,resources.pak,snapshot_blob.bin,v8_context_snapshot.bin,vk_swiftshader_icd.json} "$to/chromium/"
    cp -L "$from/locales/en-US.pak" "$to/chromium/locales/"
    "${CC:-cc}" -shared -fPIC -O2 -fvisibility=hidden tests/web/chromium_vulkan.c -ldl -o "$to/chromium/libvk_swiftshader.so"
    cp -L "$(command -v node)" "$to/bin/node"
    strip --strip-unneeded "$to/bin/node"
    # those that are linked, those that NSS loads by itself, and the Vulkan loader
    loaded=$(ls "$system"/{libsoftokn3.so,libfreebl3.so,libfreeblpriv3.so,libnssckbi.so,libnssutil3.so,libvulkan.so.1})
    # shellcheck disable=SC2086 # paths without blanks
    { closure "$from/chromium" "$from/chrome_crashpad_handler" "$to/bin/node" $loaded; echo "$loaded"; } | sort -u |
        while read -r path; do cp -L "$path" "$to/lib/$(basename "$path")"; done
    cp "$system"/lib{softokn3,freebl3,freeblpriv3}.chk "$to/lib/"
    cp /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf "$to/fonts/" 2>/dev/null || true
    rm -f "$out"/runtime.*
    pack "$to" | split -b "${most_mib}m" -d -a 1 - "$out/runtime."
    cat "$out"/runtime.? | sha256sum | cut -d ' ' -f 1 >"$work/sum"
    mv "$work/sum" "$out/runtime.sum"
    ls -l "$out"
}

solo() {
    built build/solo build/web/.done build/web/solo.wasm
    local to=$work/solo
    mkdir -p "$to/build" "$to/node_modules" "$to/deps/lib"
    strip -o "$to/build/solo" build/solo
    cp -r build/web "$to/build/web"
    cp deps/lib/libwebgpu_dawn.so "$to/deps/lib/"
    cp -r node_modules/playwright-core "$to/node_modules/"
    rm -rf "$to"/node_modules/playwright-core/{types,lib/vite}
    pack "$to" >"$out/solo.tar.xz"
    ls -l "$out/solo.tar.xz"
}

case $what in
    runtime | solo) "$what" ;;
    -h | --help) usage ;;
    *) usage >&2; exit 2 ;;
esac
