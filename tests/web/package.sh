#!/bin/sh
# The package for npm, installed in an empty folder: in Node, from another origin in both browsers, in a service worker, in an
# extension. With BUNDLERS (make test-npm sets it), a folder of node_modules: its types, vite, esbuild and React, too.
. tests/web/native.inc
command -v npm >/dev/null || { echo "skip package: npm is not here"; exit 0; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work" "$errors"' EXIT
cp -r "$SOLO_PAGE" "$work/web"
tgz=$(sh tools/npm_package.sh "$work") || { echo "not ok package: make npm"; exit 1; }
mkdir -p "$work/app/node_modules/solo-gpu"
tar xzf "$tgz" -C "$work/app/node_modules/solo-gpu" --strip-components=1 || { echo "not ok package: the tarball"; exit 1; }
export APP="$work/app"
in_host package node tests/web/package.mjs
