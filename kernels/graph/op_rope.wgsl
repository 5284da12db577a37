// Turns pairs of a head by their position. A workgroup for each head of each row.
// Arguments: 0 rows * heads, 1 out, 2 x, 3 size of a head, 4 heads, 5 position, 6 how much of a head turns,
// 7 pairs lie side by side, 8 log2 of an angle as a share of the one before, 9 magnitude, 10 has divisors, 11 divisors.
const THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let head = v * arg(args, 3);
    let half = arg(args, 6) / 2u;
    let position = f32(load_word(arg(args, 5)) + v / arg(args, 4));
    for (var i = local; i < arg(args, 3); i += THREADS) {
        if (i >= arg(args, 6)) { store(arg(args, 1) + head + i, load(arg(args, 2) + head + i)); }
    }
    for (var i = local; i < half; i += THREADS) {
        let a = head + select(i, 2u * i, arg(args, 7) == 1u);
        let b = head + select(i + half, 2u * i + 1u, arg(args, 7) == 1u);
        var angle = position * exp2(f32(i) * arg_float(args, 8));
        if (arg(args, 10) == 1u) { angle /= load(arg(args, 11) + i); }
        let c = cos(angle) * arg_float(args, 9);
        let s = sin(angle) * arg_float(args, 9);
        let x = load(arg(args, 2) + a);
        let y = load(arg(args, 2) + b);
        store(arg(args, 1) + a, x * c - y * s);
        store(arg(args, 1) + b, x * s + y * c);
    }
}
