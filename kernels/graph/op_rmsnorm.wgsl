// RMSNorm of each row: x / sqrt(mean(x^2) + epsilon) * (weight + weight offset).
override THREADS = 256u;
const TEAM = 32u;
override HALVES = 0u; // 1: the result goes to activations as f16
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "reduce_REDUCE.wgsl"

fn normed(args: u32, row: u32, i: u32, scale: f32) -> f32 {
    return load(arg(args, ARG_X) + row + i) * scale *
        (load(arg(args, RMSNORM_WEIGHT) + i) + arg_float(args, RMSNORM_WEIGHT_OFFSET));
}

fn body(args: u32, v: u32, local: u32) {
    let row = v * arg(args, ARG_LENGTH);
    var sum = 0.0;
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        let x = polled(arg(args, ARG_X) + row + i, arg(args, RMSNORM_X_COMPUTED) == 1u);
        sum += x * x;
    }
    let scale = inverseSqrt(sum_of_all(sum, local) / f32(arg(args, ARG_LENGTH)) + arg_float(args, RMSNORM_EPSILON));
    if (HALVES == 1u) {
        for (var i = 2u * local; i < arg(args, ARG_LENGTH); i += 2u * THREADS) {
            store_word(arg(args, ARG_OUT) + (row + i) / 2u,
                halves_to_store(vec2<f32>(normed(args, row, i, scale), normed(args, row, i + 1u, scale))));
        }
        return;
    }
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        store(arg(args, ARG_OUT) + row + i, normed(args, row, i, scale));
    }
}
