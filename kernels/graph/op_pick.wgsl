// Rows of activations. Arguments: 0 rows, 1 out, 2 x, 3 length, 4 which rows, 5 the last row there is.
const THREADS = 64u;
//!include "graph.wgsl"

fn body(v: u32, local: u32) {
    let wanted = min(load_word(arg(4) + v), arg(5));
    for (var i = local; i < arg(3); i += THREADS) { store_word(arg(1) + v * arg(3) + i, load_word(arg(2) + wanted * arg(3) + i)); }
}
