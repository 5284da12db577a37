// Turns pairs of a head by their position. A workgroup for each head of each row.
// Arguments: 0 rows * heads, 1 out, 2 x, 3 size of a head, 4 heads, 5 position, 6 how much of a head turns,
// 7 pairs lie side by side, 8 log2 of an angle as a share of the one before, 9 magnitude, 10 has divisors, 11 divisors.
override THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let head = v * arg(args, ROPE_HEAD_SIZE);
    let half = arg(args, ROPE_ROTATED) / 2u;
    let position = f32(load_word(arg(args, ROPE_POSITION)) + v / arg(args, ROPE_HEADS));
    for (var i = local; i < arg(args, ROPE_HEAD_SIZE); i += THREADS) {
        if (i >= arg(args, ROPE_ROTATED)) { store(arg(args, ARG_OUT) + head + i, load(arg(args, ARG_X) + head + i)); }
    }
    for (var i = local; i < half; i += THREADS) {
        let a = head + select(i, 2u * i, arg(args, ROPE_INTERLEAVED) == 1u);
        let b = head + select(i + half, 2u * i + 1u, arg(args, ROPE_INTERLEAVED) == 1u);
        var angle = position * exp2(f32(i) * arg_float(args, ROPE_LOG2_RATIO));
        if (arg(args, ROPE_HAS_DIVISORS) == 1u) { angle /= load(arg(args, ROPE_DIVISORS) + i); }
        let c = cos(angle) * arg_float(args, ROPE_MAGNITUDE);
        let s = sin(angle) * arg_float(args, ROPE_MAGNITUDE);
        let x = load(arg(args, ARG_X) + a);
        let y = load(arg(args, ARG_X) + b);
        store(arg(args, ARG_OUT) + a, x * c - y * s);
        store(arg(args, ARG_OUT) + b, x * s + y * c);
    }
}
