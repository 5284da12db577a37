#!/bin/sh
# The wasm in Node and in Deno: tokens as natively, errors, records.
set -u
export PROMPT='Once upon a time' TOKENS=20
EXPECTED=$("$SOLO" run -p "$PROMPT" -n $TOKENS -c 64 --fuse ops 2>/dev/null) || { echo "not ok the native run"; exit 1; }
export EXPECTED
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# in_host NAME COMMAND...: its lines with the host's name; one more if it ends early
in_host() {
    host=$1
    shift
    { "$@" 2>"$errors" || echo "not ok all of it: $(grep -m 1 Error "$errors")"; } | sed "s/^\(not \)\{0,1\}ok /&$host: /"
}

if [ -e node_modules/webgpu/package.json ]; then
    LEVELS=none,ops,token,loop in_host node node tests/web/hosts.mjs
else
    echo "skip node: the package webgpu is not installed"
fi
if node_modules/.bin/deno --version >/dev/null 2>&1; then
    LEVELS=ops,loop in_host deno node_modules/.bin/deno run -A --no-lock --node-modules-dir=none tests/web/hosts.mjs
else
    echo "skip deno: the package deno is not installed, or not for this machine"
fi
