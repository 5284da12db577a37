#!/bin/sh
# The wasm in Node: Dawn, and C suspended by Asyncify (Node 20) or JSPI (24).
. tests/web/native.inc
if [ -e node_modules/webgpu/package.json ]; then
    LEVELS=none,ops,token,loop in_host node node tests/web/hosts.mjs
    in_host node node tests/web/torch.mjs node
else
    echo "skip node: the package webgpu is not installed"
fi
node tests/web/parts.mjs
node tests/web/downloads.mjs
