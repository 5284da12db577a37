#!/bin/bash
# bench/pack.sh [-o FOLDER] [-s MIB] [WHAT...]
#
# Everything that is measured, for a machine that has a GPU, its driver and Python, but no packages and no network. Leaves in FOLDER
# (default: build/packed) packages in pieces of at most MIB (default 34), each with a sum, and what runs them:
#
#     libraries     Dawn, wgpu-native, Vulkan's loader, cmocka: they change with tools/setup.sh only
#     solo          solo, the page, models and scripts: they change with every commit
#     tests         the GPU tests, likewise
#     llama-vulkan, llama-cuda   llama.cpp's libraries from npm
#     chromium      Chromium, Node and their libraries
#     http          libmicrohttpd, which solo serve needs, with its libraries; with LLAMA_SERVER in the environment, which names a program, that
#                   program, too (of llama-cuda's release: it is run with that package's libraries)
#     torch         Solo's Python package, tinygrad, onnxruntime with WebGPU and what they need, for Python 3.12, and clang for tinygrad
#     megakernels   with MEGAKERNELS and THUNDERKITTENS in the environment, which name clones (bench/pack_megakernels.sh)
#
# WHAT: those to pack (default: all; megakernels only where the clones are named). All files of FOLDER into one folder on the other machine,
# in as many transfers as it takes, and there
#
#     bash FOLDER/packed.sh RESULTS [PART...]       bash FOLDER/packed.sh -h says what parts there are
#
# Wants `make build web`, for chromium what `make test` installs, for torch `make wheel` and clang. The GPU tests are built here. A few minutes on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/packing.inc
pack_options "$@"
shift $((OPTIND - 1))
system=$(dirname "$(ls /usr/lib/*-linux-gnu/libvulkan.so.1)")

libraries() {
    mkdir -p "$to"/{deps/lib,loader}
    cp deps/lib/*.so "$to/deps/lib/"
    cp -L "$system/libvulkan.so.1" "$system/libcmocka.so.0" "$to/loader/"
}

solo() {
    built build/solo build/web/.done build/web/solo.wasm
    # what is committed, less what is read by nobody there
    git archive HEAD bench tools tests web models package.json Makefile | tar -x -C "$to" --exclude=tests/fuzz --exclude=tests/unit
    bench/presets.sh -k results/h200/presets -l | cut -d' ' -f1 >"$to/missing-presets"
    mkdir -p "$to/build" "$to/node_modules"
    strip -o "$to/build/solo" build/solo
    cp -r build/web "$to/build/web"
    cp -r node_modules/playwright-core "$to/node_modules/"
    rm -rf "$to"/node_modules/playwright-core/{types,lib/vite}
}

tests() {
    local tests=() source
    for source in tests/gpu/test_*.c; do tests+=("build/${source%.c}"); done
    make --no-print-directory "${tests[@]}" >/dev/null
    mkdir -p "$to/build/tests/gpu"
    for source in "${tests[@]}"; do strip -o "$to/$source" "$source"; done
}

npm_package() { # NAME@VERSION: its folder of libraries
    (cd "$work" && npm pack --silent "$1" >/dev/null && tar -xzf ./*.tgz && rm ./*.tgz)
    mv "$work"/package/bins/*/* "$to/"
    rm -rf "$work/package"
}
llama_vulkan() { npm_package @node-llama-cpp/linux-x64-vulkan@3.22.1; }
llama_cuda() { npm_package @node-llama-cpp/linux-x64-cuda@3.14.5; } # CUDA 13; later ones want a newer driver

# what the C library's own packages hold comes from the other machine
glibc='^(ld-linux.*|lib(c|m|pthread|dl|rt|resolv|util|anl|mvec|nsl|nss_[a-z]*|thread_db|BrokenLocale|c_malloc_debug))\.so'
# closure FILE...: the libraries that they need
closure() {
    ldd "$@" | awk '$2 == "=>" && $3 ~ /^\// { print $3 } $3 == "not" { print "missing: " $0 > "/dev/stderr"; bad = 1 } END { exit bad }' | sort -u |
        while read -r path; do [[ $(basename "$path") =~ $glibc ]] || echo "$path"; done
}

chromium() {
    local from=/usr/lib/chromium loaded
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
}

http() {
    local path
    mkdir -p "$to/lib"
    for path in $(ls "$system/libmicrohttpd.so.12") $(closure "$system/libmicrohttpd.so.12"); do cp -L "$path" "$to/lib/$(basename "$path")"; done
    [ -z "${LLAMA_SERVER:-}" ] || strip -o "$to/llama-server" "$LLAMA_SERVER"
}

# tinygrad compiles a part of its own with clang, wherever its kernels run; the machine there may have none
torch() {
    local clang path
    ls build/wheel/*.whl >/dev/null 2>&1 || { echo "pack.sh: there is no wheel in build/wheel; first: make wheel" >&2; exit 1; }
    clang=$(find /usr/lib/llvm-*/bin -name clang | sort -V | tail -n 1)
    python3 -m pip install -q --disable-pip-version-check --no-deps --no-compile --only-binary=:all: --python-version 3.12 --implementation cp \
        --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 --platform manylinux2014_x86_64 --platform manylinux_2_17_x86_64 \
        --target "$to/python" tinygrad==0.14.0 dawn-python==0.3.0 onnxruntime-webgpu==1.27.0 onnx==1.23.2 ml_dtypes==0.6.0 protobuf==7.36.2 \
        flatbuffers==25.12.19 cffi==2.0.0 pycparser==2.23
    for path in build/wheel/*.whl; do python3 -m zipfile -e "$path" "$to/python"; done
    rm -rf "$to/python/onnx/backend" "$to"/python/pydawn/lib/*aarch64* "$to/python/bin"
    mkdir -p "$to/clang/lib"
    cp -L "$clang" "$to/clang/clang.bin"
    closure "$clang" | while read -r path; do cp -L "$path" "$to/clang/lib/$(basename "$path")"; done
    # shellcheck disable=SC2016 # for the script that is written
    printf '#!/bin/sh\nhere=$(dirname "$(realpath "$0")")\nLD_LIBRARY_PATH=$here/lib exec "$here/clang.bin" "$@"\n' >"$to/clang/clang"
    chmod 755 "$to/clang/clang"
}

megakernels() {
    bench/pack_megakernels.sh "${MEGAKERNELS:?names no clone of github.com/HazyResearch/Megakernels}" \
        "${THUNDERKITTENS:?names no clone of github.com/HazyResearch/ThunderKittens}" "$to"
}

[ $# -gt 0 ] || set -- libraries solo tests llama-vulkan llama-cuda chromium http torch ${MEGAKERNELS:+megakernels}
for what; do
    case $what in
        libraries | solo | tests | llama-vulkan | llama-cuda | chromium | http | torch | megakernels) ;;
        *) echo "pack.sh: there is no $what: libraries, solo, tests, llama-vulkan, llama-cuda, chromium, http, torch, megakernels" >&2; exit 2 ;;
    esac
done
cp bench/packed.sh bench/packing.inc "$out/"
for what; do
    to=$work/$what
    mkdir -p "$to"
    "${what//-/_}"
    put "$to" "$what"
    rm -rf "$to"
done
