// Rows one behind the other: out[r] is x[r], then y[r].
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, JOIN_COUNT)) { return; }
    let length = arg(args, JOIN_X_LENGTH) + arg(args, JOIN_Y_LENGTH);
    let row = i / length;
    let place = i % length;
    if (place < arg(args, JOIN_X_LENGTH)) {
        let at = arg(args, ARG_X) + row * arg(args, JOIN_X_LENGTH) + place;
        store(arg(args, ARG_OUT) + i, polled(at, arg(args, JOIN_X_COMPUTED) == 1u));
    } else {
        let at = arg(args, JOIN_Y) + row * arg(args, JOIN_Y_LENGTH) + place - arg(args, JOIN_X_LENGTH);
        store(arg(args, ARG_OUT) + i, polled(at, arg(args, JOIN_Y_COMPUTED) == 1u));
    }
}
