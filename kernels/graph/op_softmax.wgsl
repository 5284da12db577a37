// softmax(x * scale) of each row.
override THREADS = 256u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "reduce_REDUCE.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let row = v * arg(args, ARG_LENGTH);
    var best = -3.4e38;
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        best = max(best, load(arg(args, ARG_X) + row + i) * arg_float(args, SOFTMAX_SCALE));
    }
    let most = max_of_all(best, local);
    var sum = 0.0;
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        sum += exp(load(arg(args, ARG_X) + row + i) * arg_float(args, SOFTMAX_SCALE) - most);
    }
    let total = sum_of_all(sum, local);
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        store(arg(args, ARG_OUT) + row + i, exp(load(arg(args, ARG_X) + row + i) * arg_float(args, SOFTMAX_SCALE) -
            most) / total);
    }
}
