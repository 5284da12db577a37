// Rows of a weight. Arguments: 0 rows, 1 out, 2 which rows, 3 k, 4 rows there are,
// 5 byte at which the weight begins, 6 bytes of its rows, 7 its type.
//!include "graph.wgsl"
//!include "weight.wgsl"

fn body(v: u32, local: u32) {
    let wanted = min(load_word(arg(2) + v), arg(4) - 1u);
    for (var i = local; i < arg(3); i += THREADS) {
        store(arg(1) + v * arg(3) + i, weight_at(arg(7), arg(5) + wanted * arg(6), i));
    }
}
