// A head of a row: normed, rotated by RoPE, and written into a state, or some of these: what op_rmsnorm.wgsl,
// op_rope.wgsl and op_store.wgsl do one after the other. A workgroup for each head of each row; in between, the head
// lies in workgroup memory. The sum of squares has an order that does not depend on the number of threads.
override THREADS = 64u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "floats.wgsl"
//!include "shared_x.wgsl"
//!include "angle.wgsl"
//!include "cache.wgsl"
//!include "reduce_REDUCE.wgsl"
const SUM_OF_SQUARES = 1024u; // where it lies in shared_x, behind the head

fn shared_float(i: u32) -> f32 { return bitcast<f32>(shared_word(i)); }
fn store_shared_float(i: u32, value: f32) { store_shared_word(i, bitcast<u32>(value)); }

// The head in workgroup memory, normed if there is a norm.
fn share_head(args: u32, v: u32, local: u32) {
    let size = arg(args, HEAD_SIZE);
    for (var i = local; i < size; i += THREADS) {
        store_shared_float(i, polled(arg(args, ARG_X) + v * size + i, arg(args, HEAD_X_COMPUTED) == 1u));
    }
    workgroupBarrier();
    var squares = 0.0;
    for (var i = local; i < size; i += TEAM) {
        if (local < TEAM) { squares = fma(shared_float(i), shared_float(i), squares); }
    }
    let sum = sum_of_team(vec4<f32>(rounded(vec4<f32>(squares)).x), local).x;
    if (local == 0u) { store_shared_float(SUM_OF_SQUARES, sum); }
    workgroupBarrier();
    if (arg(args, HEAD_NORM_WEIGHT) > 0u) {
        let scale = inverseSqrt(
            fma(shared_float(SUM_OF_SQUARES), arg_float(args, HEAD_NORM_SHARE), arg_float(args, HEAD_NORM_EPSILON)));
        for (var i = local; i < size; i += THREADS) {
            let weight = load(arg(args, HEAD_NORM_WEIGHT) - 1u + i) + arg_float(args, HEAD_NORM_OFFSET);
            store_shared_float(i, shared_float(i) * scale * weight);
        }
    }
    workgroupBarrier();
}

// Element i of the head, rotated if it is among those that are.
fn rotated(args: u32, i: u32, position: u32) -> f32 {
    if (i >= arg(args, HEAD_ROTATED)) { return shared_float(i); }
    let half = arg(args, HEAD_ROTATED) / 2u;
    let interleaved = arg(args, HEAD_INTERLEAVED) == 1u;
    let pair = select(i % half, i / 2u, interleaved);
    let x = shared_float(select(pair, 2u * pair, interleaved));
    let y = shared_float(select(pair + half, 2u * pair + 1u, interleaved));
    var angle = angles_of(f32(position), vec2<f32>(f32(pair)), arg_float(args, HEAD_LOG2_RATIO));
    if (arg(args, HEAD_FACTORS) > 0u) { angle *= bitcast<f32>(load_word(arg(args, HEAD_FACTORS) - 1u + pair)); }
    angle = within_a_turn(angle);
    let c = cos(angle.x) * arg_float(args, HEAD_MAGNITUDE);
    let s = sin(angle.x) * arg_float(args, HEAD_MAGNITUDE);
    if (select(i >= half, i % 2u == 1u, interleaved)) { return fma(x, s, rounded(vec4<f32>(y * c)).x); }
    return fma(x, c, rounded(vec4<f32>(y * -s)).x);
}

// Elements i and i + 1 of head v; i is even.
fn put_elements(args: u32, v: u32, i: u32, y: vec2<f32>, position: u32) {
    let at = v * arg(args, HEAD_SIZE) + i;
    if (arg(args, HEAD_STATE_ROWS) == 0u) {
        store(arg(args, ARG_OUT) + at, y.x);
        store(arg(args, ARG_OUT) + at + 1u, y.y);
        return;
    }
    // The state's halves and those that are made of the copy come from the same floats: without the epoch bit.
    let even = rounded(vec4<f32>(y, y)).xy;
    if (arg(args, HEAD_ROW_COPY) > 0u) {
        store(arg(args, HEAD_ROW_COPY) + at, even.x);
        store(arg(args, HEAD_ROW_COPY) + at + 1u, even.y);
    }
    if (position >= arg(args, HEAD_STATE_ROWS)) { return; }
    let heads = arg(args, HEAD_COUNT);
//!for _ ALONE
    let element = (position * heads + v % heads) * arg(args, HEAD_SIZE) + i;
//!end
//!for _ SLOTTED
    let element = ((v / heads * arg(args, HEAD_STATE_ROWS) + position) * heads + v % heads) * arg(args, HEAD_SIZE) + i;
//!end
    if (arg(args, HEAD_CACHE) == CACHE_F16) {
        store_state_word(arg(args, ARG_OUT) + element / 2u, pack2x16float(even));
    } else {
        store_state_word(arg(args, ARG_OUT) + element, bitcast<u32>(even.x));
        store_state_word(arg(args, ARG_OUT) + element + 1u, bitcast<u32>(even.y));
    }
}

fn body(args: u32, v: u32, local: u32) {
    share_head(args, v, local);
    let row = v / arg(args, HEAD_COUNT);
//!for _ ALONE
    let position = load_word(arg(args, HEAD_POSITION)) + row;
//!end
//!for _ SLOTTED
    let position = load_word(arg(args, HEAD_POSITION) + row);
//!end
    for (var i = 2u * local; i < arg(args, HEAD_SIZE); i += 2u * THREADS) {
        put_elements(args, v, i, vec2<f32>(rotated(args, i, position), rotated(args, i + 1u, position)), position);
    }
}
