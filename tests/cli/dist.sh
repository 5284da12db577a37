#!/bin/sh
# The archive of `make dist`: complete, the same twice, and it needs nothing but a compiler and Debian's libraries.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
unset MAKEFLAGS MFLAGS MAKELEVEL
build=$(dirname "$SOLO")
report() { if [ "$1" -eq 0 ]; then echo "ok $2"; else echo "not ok $2"; [ -f "$work/log" ] && sed 's/^/# /;20q' "$work/log"; fi; }
git rev-parse HEAD >/dev/null 2>&1 || { echo "skip dist: this is no git repository"; exit 0; }
[ -e deps/include/webgpu/webgpu.h ] || { echo "skip dist: what is fetched is not here"; exit 0; }
git diff --quiet HEAD -- kernels src/graph/graph.h tools/kernels.mjs tools/kernel_args.mjs tools/expand_kernel.c ||
    { echo "skip dist: kernels that are not committed"; exit 0; }

for copy in first second; do
    mkdir -p "$work/$copy" && cp -r "$build/gen" "$work/$copy/gen"
    sh tools/dist.sh "$work/$copy" 1.2.3 >"$work/log" 2>&1
done
cmp -s "$work/first/dist/SHA256SUMS" "$work/second/dist/SHA256SUMS"; report $? "the same commit gives the same archive and SBOM"
(cd "$work/first/dist" && sha256sum -c SHA256SUMS) >"$work/log" 2>&1; report $? "the checksums are those of the files"

node -e '
const bom = JSON.parse(require("fs").readFileSync(process.argv[1])), names = new Set(bom.components.map((c) => c.name));
const missing = ["naga-wasm", "bun-webgpu-linux-x64", "wgpu", "litert-lm-api", "libjansson-dev"].filter((name) => !names.has(name));
const odd = bom.components.filter((c) => !c.purl || (/^pkg:(npm|pypi)/.test(c.purl) && !c.hashes.length));
if (bom.bomFormat !== "CycloneDX" || missing.length || odd.length) { console.log(missing, odd); process.exit(1); }
' "$work/first/dist/solo-1.2.3.cdx.json" >"$work/log" 2>&1; report $? "the SBOM has what is pinned, with hashes"

mkdir "$work/source" && tar xzf "$work/first/dist/solo-1.2.3.tar.gz" -C "$work/source" --strip-components=1
(cd "$work/source" && make -n SETUP=@: build/gen/kernels.o build/gen/version.o build/src/graph/graph.o) >"$work/commands" 2>&1
grep -E '^(node|npm|python3?|pip3?) ' "$work/commands" >"$work/log"
grep -q -- '-c .*kernels\.c' "$work/commands" && [ ! -s "$work/log" ]; report $? "what it builds needs neither Node nor packages"
cd "$work/source" && make -s SETUP=@: build/src/gpu/webgpu/library.o build/gen/kernels.o >"$work/log" 2>&1
report $? "it compiles with the headers and kernels that it brings"
