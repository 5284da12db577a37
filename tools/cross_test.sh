#!/bin/sh
# cross_test.sh LIBRARIES PROGRAM...: unit tests of linux-arm64 under qemu-aarch64, counted as tests/run.sh counts them.
set -u
libraries=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export SOLO_CACHE="$work/cache" SOLO_HUB=off
for program; do
    script=$work/$(basename "$program").sh
    printf '#!/bin/sh\nCMOCKA_MESSAGE_OUTPUT=TAP exec qemu-aarch64 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="%s" "%s"\n' "$libraries" "$program" >"$script"
    set -- "$@" "$script"
    shift
done
sh tests/run.sh "$@"
