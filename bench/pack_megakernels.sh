#!/bin/bash
# bench/pack_megakernels.sh MEGAKERNELS THUNDERKITTENS TARGET
#
# Sources of HazyResearch's Megakernels in the folder TARGET, for a machine that has a GPU and nvcc, but no network. The other arguments are clones
# of github.com/HazyResearch/Megakernels and github.com/HazyResearch/ThunderKittens (bare ones are fine); of the second, the commit is
# taken that the first names. einops and pybind11 (headers) come from PyPI. There (bench/packed.sh does all of it):
#
#     bench/build_megakernels.sh TARGET        in half a minute
#     PYTHONPATH=TARGET/python python3 bench/megakernels.py MODEL --repo TARGET/repo --json FILE
set -euo pipefail
. "$(dirname "$0")/packing.inc"
[ $# -eq 3 ] || { usage >&2; exit 2; }
megakernels=$1 kittens=$2 target=$3

commit=$(git -C "$megakernels" rev-parse HEAD:ThunderKittens)
mkdir -p "$target"/{repo,ThunderKittens,python,wheels}
git -C "$megakernels" archive HEAD demos include megakernels LICENSE | tar -x -C "$target/repo"
git -C "$kittens" archive "$commit" include LICENSE | tar -x -C "$target/ThunderKittens"
python3 -m pip download --quiet --no-deps --only-binary :all: -d "$target/wheels" einops==0.8.1 pybind11==3.0.1
for wheel in "$target/wheels"/*.whl; do python3 -m zipfile -e "$wheel" "$target/python"; done
rm -rf "$target/wheels"
git -C "$megakernels" rev-parse HEAD >"$target/commit"
