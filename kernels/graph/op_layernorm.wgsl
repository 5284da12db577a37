// LayerNorm of each row: (x - mean(x)) / sqrt(variance(x) + epsilon) * weight + bias.
override THREADS = 256u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "reduce_REDUCE.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let length = arg(args, ARG_LENGTH);
    let x = arg(args, ARG_X) + v * length;
    var sum = 0.0;
    for (var i = local; i < length; i += THREADS) { sum += polled(x + i, arg(args, LAYERNORM_X_COMPUTED) == 1u); }
    let mean = sum_of_all(sum, local) / f32(length);
    var squares = 0.0;
    for (var i = local; i < length; i += THREADS) {
        let d = load(x + i) - mean;
        squares = fma(d, d, squares);
    }
    let scale = inverseSqrt(sum_of_all(squares, local) / f32(length) + arg_float(args, LAYERNORM_EPSILON));
    for (var i = local; i < length; i += THREADS) {
        var bias = 0.0;
        if (arg(args, LAYERNORM_BIAS) > 0u) { bias = load(arg(args, LAYERNORM_BIAS) - 1u + i); }
        store(arg(args, ARG_OUT) + v * length + i,
            fma((load(x + i) - mean) * scale, load(arg(args, LAYERNORM_WEIGHT) + i), bias));
    }
}
