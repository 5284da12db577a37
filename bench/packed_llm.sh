#!/bin/bash
# bench/packed_llm.sh FOLDER RESULTS [words for bench/llm.sh]
#
# Runs bench/llm.sh -o RESULTS with what bench/pack_llm.sh has put into FOLDER and an NVIDIA driver, then bench/one.sh -r 2 -o RESULTS.
#
# Environment: WORK (/tmp/packed-llm: where things are unpacked; models go to bench/llm.sh's own folder), SWEEPS ("depth groups size": those of one.sh; "none"),
# DRIVER (libEGL_nvidia.so.0: the library by which the loader finds the GPU), and what llm.sh knows.
set -uo pipefail
. "$(dirname "$0")/packing.inc"
[ $# -ge 2 ] || { usage >&2; exit 2; }
folder=$(realpath "$1") results=$(realpath -m "$2") work=${WORK:-/tmp/packed-llm} sweeps=${SWEEPS:-depth groups size}
shift 2
cd "$(dirname "$0")/.." || exit 1
mkdir -p "$work/run" "$results" || exit 1
unpack "$work/root" <"$folder/solo-native.tar.xz" || exit 1
libraries=
for sum in "$folder"/node-llama-cpp-*.tgz.sum; do
    package=${sum%.sum} name=$(basename "${sum%.tgz.sum}")
    [ -d "$work/$name" ] || bench/parts.sh join "$package" "$work/$name" || continue # without it, then
    libraries="$libraries --lib $(echo "$work/$name"/package/bins/*)"
done
icd "${DRIVER:-libEGL_nvidia.so.0}" >"$work/icd.json"
export VK_ICD_FILENAMES=$work/icd.json XDG_RUNTIME_DIR=$work/run LD_LIBRARY_PATH=$work/root/loader:/usr/local/nvidia/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SOLO=$work/root/bin/solo SOLO_FLAGS=${SOLO_FLAGS:---impl dawn --adapter gpu} LLAMA_FLAGS=${LLAMA_FLAGS:-$libraries}
bench/llm.sh -o "$results" "$@"
status=$?
# shellcheck disable=SC2086 # a list of words
[ "$sweeps" = none ] || bench/one.sh -r 2 -o "$results" $sweeps || status=1
exit $status
