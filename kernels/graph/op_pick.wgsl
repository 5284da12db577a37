// Rows of activations: out[v] = x[rows[v]].
override THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let wanted = min(load_word(arg(args, PICK_ROWS) + v), arg(args, PICK_LAST_ROW));
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        store_word(arg(args, ARG_OUT) + v * arg(args, ARG_LENGTH) + i,
            load_word(arg(args, ARG_X) + wanted * arg(args, ARG_LENGTH) + i));
    }
}
