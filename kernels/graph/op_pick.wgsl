// Rows of activations. Arguments: 0 rows, 1 out, 2 x, 3 length, 4 which rows, 5 the last row there is.
const THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let wanted = min(load_word(arg(args, 4) + v), arg(args, 5));
    for (var i = local; i < arg(args, 3); i += THREADS) { store_word(arg(args, 1) + v * arg(args, 3) + i, load_word(arg(args, 2) + wanted * arg(args, 3) + i)); }
}
