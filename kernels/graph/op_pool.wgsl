// The rows of a text as one: out[i] = sum over t of weight[t] * x[t, i].
override THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    let length = arg(args, ARG_COUNT);
    if (i >= length) { return; }
    var sum = 0.0;
    for (var t = 0u; t < arg(args, POOL_ROWS); t++) {
        sum = fma(load(arg(args, POOL_WEIGHTS) + t), load(arg(args, ARG_X) + t * length + i), sum);
    }
    store(arg(args, ARG_OUT) + i, sum);
}
