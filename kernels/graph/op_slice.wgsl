// A slice of each row: out[r][i] = x[r][start + i].
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, ARG_COUNT)) { return; }
    let at = arg(args, ARG_X) + i / arg(args, SLICE_LENGTH) * arg(args, SLICE_ROW_LENGTH) + arg(args, SLICE_START) +
        i % arg(args, SLICE_LENGTH);
    if (arg(args, SLICE_FORM) == 0u) {
        store_word(arg(args, ARG_OUT) + i, load_word(at));
    } else {
        store(arg(args, ARG_OUT) + i, polled(at, arg(args, SLICE_FORM) == 2u));
    }
}
