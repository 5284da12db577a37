// Sums of rows with weights: out[t, i] = sum over s of weight[t, s] * x[t, s, i].
override THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, ARG_COUNT)) { return; }
    let slots = arg(args, MIX_SLOTS);
    let length = arg(args, MIX_LENGTH);
    let row = i / length * slots;
    var sum = 0.0;
    for (var s = 0u; s < slots; s++) {
        let x = load(arg(args, ARG_X) + (row + s) * length + i % length);
        sum = fma(load(arg(args, MIX_WEIGHTS) + row + s), x, sum);
    }
    store(arg(args, ARG_OUT) + i, sum);
}
