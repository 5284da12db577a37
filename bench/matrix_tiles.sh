#!/bin/bash
# bench/matrix_tiles.sh MODEL [ROWS]
#
# The products of a prompt of ROWS tokens (512) in tiles of several sizes, one line for each product: microseconds of the
# device, as `solo explain --time` measures them. For a GPU with matrix units: src/graph/matmul_matrix.c has the tiles
# that are chosen from. Environment: SOLO (build/solo), TILES (a list of SOLO_MATRIX_TILE's values).
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,/^set -/{/^set -/d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
solo=${SOLO:-build/solo} model=$1 rows=${2:-512}
tiles=${TILES:-"chosen 2,2,2,4,4,64 4,2,1,4,5,32 2,2,1,4,4,32 1,1,8,4,4,128 1,2,4,4,2,64 1,1,8,2,4,128 1,1,4,4,4,64 2,2,1,2,4,32"}
for tile in $tiles; do
    echo "$tile" # "chosen" is no tile: then it is chosen as ever
    SOLO_MATRIX_TILE=$tile "$solo" explain "$model" --rows "$rows" --depth 0 --fuse ops --time --impl dawn | grep -E '  matmul_matrix' | sed 's/ \+/ /g'
done
