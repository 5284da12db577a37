// What a row's experts made, added up with their weights: out[t, i] = sum over s of weight[t, s] * x[t, s, i].
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, ARG_COUNT)) { return; }
    let slots = arg(args, MIX_SLOTS);
    let length = arg(args, MIX_LENGTH);
    let row = i / length;
    var sum = 0.0;
    for (var s = 0u; s < slots; s++) {
        let x = polled(arg(args, ARG_X) + (row * slots + s) * length + i % length, true);
        sum = fma(polled(arg(args, MIX_ROUTES) + (2u * row + 1u) * slots + s, true), x, sum);
    }
    store(arg(args, ARG_OUT) + i, sum);
}
