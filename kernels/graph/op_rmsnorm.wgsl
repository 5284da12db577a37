// RMSNorm of each row: x / sqrt(mean(x^2) + epsilon) * (weight + weight offset).
override THREADS = 256u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "reduce_REDUCE.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let row = v * arg(args, ARG_LENGTH);
    var sum = 0.0;
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        let x = load(arg(args, ARG_X) + row + i);
        sum += x * x;
    }
    let scale = inverseSqrt(sum_of_all(sum, local) / f32(arg(args, ARG_LENGTH)) + arg_float(args, RMSNORM_EPSILON));
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        store(arg(args, ARG_OUT) + row + i, load(arg(args, ARG_X) + row + i) * scale *
            (load(arg(args, RMSNORM_WEIGHT) + i) + arg_float(args, RMSNORM_WEIGHT_OFFSET)));
    }
}
