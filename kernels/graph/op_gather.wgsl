// Rows of a matrix of weights: out[v] = weight[rows[v]], or weight[rows[0] + v]. A large matrix lies in several pieces;
// each is a dispatch, which does the rows of its piece.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let consecutive = arg(args, GATHER_CONSECUTIVE);
    let wanted = min(load_word(arg(args, GATHER_ROWS) + v * (1u - consecutive)) + v * consecutive,
        arg(args, GATHER_LAST_ROW));
    if (wanted < arg(args, GATHER_PIECE_FIRST) ||
        wanted - arg(args, GATHER_PIECE_FIRST) >= arg(args, GATHER_PIECE_ROWS)) {
        return;
    }
    let chunks = (arg(args, GATHER_LENGTH) + CHUNK - 1u) / CHUNK;
    for (var c = local; c < chunks; c += THREADS) {
        let bits_here = fetch(matrix(arg(args, GATHER_WEIGHT), arg(args, GATHER_PIECE_ROWS) * chunks),
            (wanted - arg(args, GATHER_PIECE_FIRST)) * chunks + c);
        for (var i = 0u; i < at_run_time(CHUNK) && c * CHUNK + i < arg(args, GATHER_LENGTH); i++) {
            store(arg(args, ARG_OUT) + v * arg(args, GATHER_LENGTH) + c * CHUNK + i,
                weight_vec4(bits_here, i / 4u)[i % 4u]);
        }
    }
}
