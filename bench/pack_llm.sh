#!/bin/bash
# bench/pack_llm.sh [-o FOLDER] [-s MIB]
#
# To compare engines (bench/llm.sh, bench/one.sh) on a machine that has a GPU, its driver, Python with torch and transformers, but no packages
# and no network. Leaves in FOLDER (default: build/packed) solo-native.tar.xz (solo, Dawn, Vulkan's loader) and llama.cpp's libraries from npm in pieces
# of at most MIB (default 45; bench/parts.sh). All of them into one folder on that machine, beside a checkout, and there:
#
#     bench/packed_llm.sh FOLDER RESULTS [words for llm.sh]
#
# Wants `make build`.
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/packing.inc
pack_options "$@"
built build/solo

mkdir -p "$work/root/bin" "$work/root/lib/solo" "$work/root/loader"
strip -o "$work/root/bin/solo" build/solo
cp deps/lib/libwebgpu_dawn.so "$work/root/lib/solo/"
cp -L /usr/lib/*-linux-gnu/libvulkan.so.1 "$work/root/loader/"
pack "$work/root" >"$out/solo-native.tar.xz"

(cd "$work" && npm pack --silent @node-llama-cpp/linux-x64-vulkan@3.22.1 @node-llama-cpp/linux-x64-cuda@3.14.5 >/dev/null)
for package in "$work"/*.tgz; do bench/parts.sh split "$package" "$out" "$most_mib"; done
ls -l "$out/solo-native.tar.xz"
