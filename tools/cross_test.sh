#!/bin/sh
# cross_test.sh RUNNER PROGRAM...: unit tests of another system by that command (qemu, wine), counted as tests/run.sh counts them.
set -u
runner=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export SOLO_CACHE="$work/cache" SOLO_HUB=off
for program; do
    script=$work/$(basename "$program").sh
    printf '#!/bin/sh\nCMOCKA_MESSAGE_OUTPUT=TAP exec %s "%s"\n' "$runner" "$program" >"$script"
    set -- "$@" "$script"
    shift
done
sh tests/run.sh "$@"
