// out[i] = f(x[i]).
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "unary.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i < arg(args, ARG_COUNT)) {
        store(arg(args, ARG_OUT) + i, function_of(arg(args, UNARY_OP_KIND),
            polled(arg(args, ARG_X) + i, arg(args, UNARY_OP_X_COMPUTED) == 1u), arg_float(args, UNARY_OP_A),
            arg_float(args, UNARY_OP_B)));
    }
}
