// Elements of each row by their places: out[t, s] = x[t, ids[t, s]].
override THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, ARG_COUNT)) { return; }
    let length = arg(args, TAKE_ROW_LENGTH);
    let place = min(load_word(arg(args, TAKE_IDS) + i), length - 1u);
    store(arg(args, ARG_OUT) + i, load(arg(args, ARG_X) + i / arg(args, TAKE_SLOTS) * length + place));
}
