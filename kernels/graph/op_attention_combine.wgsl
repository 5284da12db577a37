// The parts that op_attention left, put together. Arguments: 0 rows * heads, 1 out, 2 parts, 3 size of a head, 4 splits.
const THREADS = 64u;
//!include "graph.wgsl"
//!include "attention_splits.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let size = arg(args, 3);
    let prefetch = arg(args, 2) + v * arg(args, 4) * (size + 2u);
    weigh_splits(prefetch, arg(args, 4), arg(args, 4), size, local);
    for (var i = local; i < size; i += THREADS) {
        var value = 0.0;
        for (var s = 0u; s < arg(args, 4); s++) { value += load(prefetch + s * (size + 2u) + i) * split_weight[s]; }
        store(arg(args, 1) + v * size + i, value);
    }
}
