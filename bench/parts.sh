#!/bin/sh
# bench/parts.sh split FILE FOLDER [MIB]     FILE in pieces of at most MIB (default 45) as FOLDER/NAME.000, .001 ..., and FOLDER/NAME.sum
# bench/parts.sh join FOLDER/NAME TARGET     what was a .tgz package, unpacked into TARGET, if all pieces are there and right
#
# For a machine that takes only so much at a time. llama.cpp's libraries, say:
#
#     npm pack @node-llama-cpp/linux-x64-cuda@3.14.5
#     bench/parts.sh split node-llama-cpp-linux-x64-cuda-3.14.5.tgz pieces            two pieces
#     ... each to the other machine, into one folder there, together with the .sum, and there:
#     bench/parts.sh join pieces/node-llama-cpp-linux-x64-cuda-3.14.5.tgz cuda
#     bench/llama.py MODEL.gguf --lib cuda/package/bins/linux-x64-cuda
set -eu

usage() { sed -n '2,/^set -eu/{/^set -eu/d;s/^# \{0,1\}//;p}' "$0"; }

split_file() {
    name=$(basename "$1")
    mkdir -p "$2"
    rm -f "$2/$name".[0-9][0-9][0-9]
    split -b "${3:-45}m" -d -a 3 "$1" "$2/$name."
    sha256sum <"$1" >"$2/$name.sum"
    ls -l "$2/$name".*
}

join_files() {
    set -- "$1" "$2" "$1".[0-9][0-9][0-9]
    name=$1 target=$2
    shift 2
    if [ "$(cat "$@" | sha256sum)" != "$(cat "$name.sum")" ]; then
        echo "parts.sh: $name: $# pieces, and they are not all of it, or not right" >&2
        exit 1
    fi
    mkdir -p "$target"
    cat "$@" | tar -xz -C "$target"
}

case ${1:-}-$# in
    split-3 | split-4) shift; split_file "$@" ;;
    join-3) shift; join_files "$@" ;;
    *) usage >&2; exit 2 ;;
esac
