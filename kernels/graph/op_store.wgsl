// Rows of x into a state (a KV cache) from a position on, as f32 or f16; rows beyond the state's end are dropped.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = (v * THREADS + local) * 2u;
    let first = load_word(arg(args, STORE_POSITION)) * arg(args, STORE_ROW_LENGTH);
    if (i >= arg(args, STORE_COUNT) || first + i + 2u > arg(args, STORE_CAPACITY) * arg(args, STORE_ROW_LENGTH)) {
        return;
    }
    let computed = arg(args, STORE_X_COMPUTED) == 1u;
    let pair = vec2<f32>(polled(arg(args, ARG_X) + i, computed), polled(arg(args, ARG_X) + i + 1u, computed));
    if (arg(args, STORE_F16) == 1u) {
        store_state_word(arg(args, STORE_STATE) + (first + i) / 2u, pack2x16float(pair));
    } else {
        store_state_word(arg(args, STORE_STATE) + first + i, bitcast<u32>(pair.x));
        store_state_word(arg(args, STORE_STATE) + first + i + 1u, bitcast<u32>(pair.y));
    }
}
