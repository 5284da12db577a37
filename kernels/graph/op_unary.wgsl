// out[i] = f(x[i]). Arguments: 1 out, 2 x, 3 count, 4 which function, 5 and 6 its constants.
const THREADS = 64u;
//!include "graph.wgsl"
//!include "unary.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i < arg(args, 3)) { store(arg(args, 1) + i, function_of(arg(args, 4), load(arg(args, 2) + i), arg_float(args, 5), arg_float(args, 6))); }
}
