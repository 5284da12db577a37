// out[i] = f(x[i]).
override THREADS = 64u;
//!include "graph.wgsl"
//!include "unary.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i < arg(args, ARG_COUNT)) {
        store(arg(args, ARG_OUT) + i, function_of(arg(args, UNARY_OP_KIND), load(arg(args, ARG_X) + i),
            arg_float(args, UNARY_OP_A), arg_float(args, UNARY_OP_B)));
    }
}
