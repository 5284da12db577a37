#!/bin/bash
# bench/pack_megakernels.sh MEGAKERNELS THUNDERKITTENS [-o FOLDER]
#
# Sources of HazyResearch's Megakernels for a machine that has a GPU and nvcc, but no network: FOLDER/megakernels.tar.xz (default: build/packed).
# The arguments are clones of github.com/HazyResearch/Megakernels and github.com/HazyResearch/ThunderKittens (bare ones are fine); of
# the second, the commit is taken that the first names. einops and pybind11 (headers) come from PyPI. On the other machine:
#
#     bench/build_megakernels.sh FOLDER WORK        unpacks and builds it, in half a minute
#     PYTHONPATH=WORK/python python3 bench/megakernels.py MODEL --repo WORK/repo --json FILE
set -euo pipefail
cd "$(dirname "$0")/.."
. bench/packing.inc
[ $# -ge 2 ] || { usage >&2; exit 2; }
megakernels=$1 kittens=$2
shift 2
pack_options "$@"

commit=$(git -C "$megakernels" rev-parse HEAD:ThunderKittens)
mkdir -p "$work/root"/{repo,ThunderKittens,python,wheels}
git -C "$megakernels" archive HEAD demos include megakernels LICENSE | tar -x -C "$work/root/repo"
git -C "$kittens" archive "$commit" include LICENSE | tar -x -C "$work/root/ThunderKittens"
python3 -m pip download --quiet --no-deps --only-binary :all: -d "$work/root/wheels" einops==0.8.1 pybind11==3.0.1
for wheel in "$work/root/wheels"/*.whl; do python3 -m zipfile -e "$wheel" "$work/root/python"; done
rm -rf "$work/root/wheels"
git -C "$megakernels" rev-parse HEAD >"$work/root/commit"
pack "$work/root" >"$out/megakernels.tar.xz"
ls -l "$out/megakernels.tar.xz"
