// x / sqrt(mean(x^2) + epsilon) * (weight + offset), row by row.
// Arguments: 0 rows, 1 out, 2 x, 3 length, 4 weight, 5 epsilon, 6 offset.
const THREADS = 256u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "reduce_REDUCE.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let row = v * arg(args, 3);
    var sum = 0.0;
    for (var i = local; i < arg(args, 3); i += THREADS) {
        let x = load(arg(args, 2) + row + i);
        sum += x * x;
    }
    let scale = inverseSqrt(sum_of_all(sum, local) / f32(arg(args, 3)) + arg_float(args, 5));
    for (var i = local; i < arg(args, 3); i += THREADS) {
        store(arg(args, 1) + row + i, load(arg(args, 2) + row + i) * scale * (load(arg(args, 4) + i) + arg_float(args, 6)));
    }
}
