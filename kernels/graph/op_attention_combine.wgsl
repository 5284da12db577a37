// Combines the partial results that split attention left: one head of one row.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "inverse.wgsl"
//!include "attention_splits.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let size = arg(args, COMBINE_HEAD_SIZE);
    let splits_at = arg(args, COMBINE_SPLITS_AT) + v * arg(args, COMBINE_SPLITS) * (size + 2u);
    weigh_splits(splits_at, arg(args, COMBINE_SPLITS), arg(args, COMBINE_SPLITS), size, local);
    for (var i = local; i < size; i += THREADS) {
        var value = 0.0;
        for (var s = 0u; s < arg(args, COMBINE_SPLITS); s++) {
            value = fma(split_weight[s], load(splits_at + s * (size + 2u) + i), value);
        }
        store(arg(args, ARG_OUT) + v * size + i, value);
    }
}
