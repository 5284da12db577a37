#!/bin/sh
# The wasm in Deno: wgpu, and C suspended by JSPI.
. tests/web/native.inc
if tests/oracle/node_modules/@deno/linux-x64-glibc/deno --version >/dev/null 2>&1; then
    LEVELS=ops,loop in_host deno tests/oracle/node_modules/@deno/linux-x64-glibc/deno run -A --no-lock --node-modules-dir=none tests/web/hosts.mjs
else
    echo "skip deno: the package deno is not installed, or not for this machine"
fi
