#!/bin/sh
# dist.sh BUILD VERSION: BUILD/dist with solo-VERSION.tar.gz, an SBOM (CycloneDX) and SHA256SUMS. The archive has what git has
# at HEAD, and in prebuilt/ what a build fetches or makes with fetched tools, so that it builds without a network: the
# kernels as C with their SPIR-V, and webgpu.h with wgpu.h. The same commit gives the same bytes.
set -eu
build=$1 version=$2 name=solo-$2
dist=$build/dist folder=$build/dist/$name
commit=$(git rev-parse HEAD)
seconds=$(git log -1 --format=%ct)
if [ -n "$(git status --porcelain)" ]; then
    echo "dist: what is not committed is left out" >&2
    # prebuilt/ must be of the same sources as the rest
    git diff --quiet HEAD -- kernels src/graph/graph.h tools/kernels.mjs tools/kernel_args.mjs tools/expand_kernel.c ||
        { echo "dist: kernels/ has changes that are not committed; commit them first" >&2; exit 1; }
fi
rm -rf "$dist"
mkdir -p "$folder/prebuilt/webgpu"
git archive --format=tar HEAD | tar xf - -C "$folder"
cp "$build"/gen/kernels.c "$build"/gen/kernels.h "$build"/gen/kernel_args.h "$folder/prebuilt/"
cp deps/include/webgpu/webgpu.h deps/include/webgpu/wgpu.h "$folder/prebuilt/webgpu/"
printf '%s\n' "${commit%"${commit#?????????}"}" >"$folder/prebuilt/commit"
printf '%s\n' 'kernels.c, kernels.h and kernel_args.h are made from kernels/ by the build (tools/kernels.mjs, naga).' \
    'webgpu/webgpu.h: Copyright 2019-2023 WebGPU-Native developers, BSD-3-Clause.' \
    'webgpu/wgpu.h: of wgpu-native, Apache-2.0 or MIT.' >"$folder/prebuilt/README"
tar c -C "$dist" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$seconds" --mode=u+rw,go+r,go-w "$name" |
    gzip -n >"$dist/$name.tar.gz"
node tools/sbom.mjs "$version" "$commit" "$seconds" >"$dist/$name.cdx.json"
rm -rf "$folder"
cd "$dist"
sha256sum "$name.tar.gz" "$name.cdx.json" >SHA256SUMS
cat SHA256SUMS
