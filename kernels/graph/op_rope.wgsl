// RoPE: rotates pairs of a head's elements by angles that grow with the position. A workgroup for each head of each
// row.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "angle.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let head = v * arg(args, ROPE_HEAD_SIZE);
    let half = arg(args, ROPE_ROTATED) / 2u;
    let computed = arg(args, ROPE_X_COMPUTED) == 1u;
//!for _ ALONE
    let at = load_word(arg(args, ROPE_POSITION)) + v / arg(args, ROPE_HEADS);
//!end
//!for _ SLOTTED
    let at = load_word(arg(args, ROPE_POSITION) + v / arg(args, ROPE_HEADS));
//!end
    let position = f32(at);
    let rows = arg(args, ROPE_FACTOR_ROWS);
    let row = min(max(at, arg(args, ROPE_FACTORS_FROM)) - arg(args, ROPE_FACTORS_FROM), max(rows, 1u) - 1u);
    let factors = arg(args, ROPE_FACTORS) + row * half;
    for (var i = local; i < arg(args, ROPE_HEAD_SIZE); i += THREADS) {
        if (i >= arg(args, ROPE_ROTATED)) {
            store(arg(args, ARG_OUT) + head + i, polled(arg(args, ARG_X) + head + i, computed));
        }
    }
    for (var i = local; i < half; i += THREADS) {
        let a = head + select(i, 2u * i, arg(args, ROPE_INTERLEAVED) == 1u);
        let b = head + select(i + half, 2u * i + 1u, arg(args, ROPE_INTERLEAVED) == 1u);
        var angle = angles_of(position, vec2<f32>(f32(i)), arg_float(args, ROPE_LOG2_RATIO)).x;
        if (rows > 0u) { angle *= bitcast<f32>(load_word(factors + i)); }
        angle = within_a_turn(vec2<f32>(angle)).x;
        let c = cos(angle) * arg_float(args, ROPE_MAGNITUDE);
        let s = sin(angle) * arg_float(args, ROPE_MAGNITUDE);
        let x = polled(arg(args, ARG_X) + a, computed);
        let y = polled(arg(args, ARG_X) + b, computed);
        store(arg(args, ARG_OUT) + a, x * c - y * s);
        store(arg(args, ARG_OUT) + b, x * s + y * c);
    }
}
