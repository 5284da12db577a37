#!/bin/bash
# bench/packed_web.sh FOLDER RESULTS [words for bench/web_gpu.mjs, or for bench/web_page.mjs]
#
# Measures in Chromium with nothing but what bench/pack_web.sh has put into FOLDER and an NVIDIA driver: unpacks it beside this script's
# checkout, makes models with random weights (MODELS, as NAME-TYPE of `solo synth`) and runs bench/web_gpu.mjs -o RESULTS on them;
# with MEASURE=page it runs bench/web_page.mjs instead, which wants no model. For the table of four models that others publish:
#
#     MODELS="llama-3-8b-q4_0 phi-3-mini-q4_0 gemma-2b-q4_0 mistral-7b-q4_0" bench/packed_web.sh FOLDER RESULTS --parts look,native,tab -r 3
#
# Environment: MEASURE (gpu), MODELS ("qwen2.5-0.5b-q4_0 qwen2.5-0.5b-f16"), WEIGHTS (WORK: their folder), ADAPTER (gpu), WORK (/tmp/packed-web: where things are unpacked), SECONDS_LIMIT (400), SOLO_VULKAN_DRIVER (the driver's path: libEGL_nvidia.so.0, looked
# for in the usual places).
set -uo pipefail
. "$(dirname "$0")/packing.inc"
[ $# -ge 2 ] || { usage >&2; exit 2; }
folder=$(realpath "$1") results=$(realpath -m "$2") work=${WORK:-/tmp/packed-web} root=${WORK:-/tmp/packed-web}/root
shift 2
cd "$(dirname "$0")/.." || exit 1
die() { echo "packed_web.sh: $*" >&2; exit 1; }
mkdir -p "$work"/{home,run,tmp} "$results" || exit 1
chmod 700 "$work/run"

sum=$(cat "$folder/runtime.sum") || die "$folder has no runtime.sum"
if [ "$(cat "$root/.sum" 2>/dev/null)" != "$sum" ]; then
    [ "$(cat "$folder"/runtime.? | sha256sum | cut -d ' ' -f 1)" = "$sum" ] || die "the pieces of $folder are not all there, or not right"
    rm -rf "$root"
    cat "$folder"/runtime.? | unpack "$root" || die "cannot unpack $folder/runtime.*"
    # of these the newer one goes for both
    for name in libstdc++.so.6 libgcc_s.so.1; do
        if [ -e "/usr/lib/x86_64-linux-gnu/$name" ]; then rm -f "$root/lib/$name"; fi
    done
    printf '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>%s</dir><cachedir>%s</cachedir></fontconfig>\n' "$root/fonts" "$work/home" >"$root/fonts.conf"
    echo "$sum" >"$root/.sum"
fi
unpack . <"$folder/solo.tar.xz" || die "cannot unpack $folder/solo.tar.xz"

driver=${SOLO_VULKAN_DRIVER:-}
for place in /usr/local/nvidia/lib64 /usr/lib/x86_64-linux-gnu /usr/lib64; do
    if [ -z "$driver" ] && [ -e "$place/libEGL_nvidia.so.0" ]; then driver=$place/libEGL_nvidia.so.0; fi
done
[ -n "$driver" ] || die "libEGL_nvidia.so.0 is not here; SOLO_VULKAN_DRIVER names another driver"
icd "$driver" >"$work/icd.json"

measure=${MEASURE:-gpu} words=()
if [ "$measure" = gpu ]; then
    words=(--adapter "${ADAPTER:-gpu}")
    for model in ${MODELS:-qwen2.5-0.5b-q4_0 qwen2.5-0.5b-f16}; do
        file=${WEIGHTS:-$work}/$model.gguf
        words+=(--model "$file")
        [ -e "$file" ] || build/solo synth "${model%-*}" "${model##*-}" "$file" >/dev/null || exit 1
    done
fi
# for Node and what it starts, not for anything else
env LD_LIBRARY_PATH="$root/lib:$(dirname "$driver")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" VK_ICD_FILENAMES="$work/icd.json" SOLO_VULKAN_DRIVER="$driver" \
    SOLO_CHROMIUM="$root/chromium/chromium" HOME="$work/home" XDG_RUNTIME_DIR="$work/run" TMPDIR="$work/tmp" FONTCONFIG_FILE="$root/fonts.conf" DBUS_SESSION_BUS_ADDRESS=disabled: \
    timeout -k 15 "${SECONDS_LIMIT:-400}" "$root/bin/node" "bench/web_$measure.mjs" -o "$results" "${words[@]}" "$@" 2>&1 | tee "$results/run.log"
exit "${PIPESTATUS[0]}"
