// out[i] = x[i] op y[..]: a function of two numbers, with y broadcast to the shape of x.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "binary.wgsl"
//!include "clamped_glu.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, BINARY_OP_COUNT)) { return; }
    var rest = i;
    var at = arg(args, BINARY_OP_Y);
    for (var d = 4u; d > 0u; d--) {
        at += rest % arg(args, BINARY_OP_DIMS - 1u + d) * arg(args, BINARY_OP_STRIDES - 1u + d);
        rest /= arg(args, BINARY_OP_DIMS - 1u + d);
    }
    let x = polled(arg(args, ARG_X) + i, arg(args, BINARY_OP_X_COMPUTED) == 1u);
    let y = polled(at, arg(args, BINARY_OP_Y_COMPUTED) == 1u);
    if (arg(args, BINARY_OP_KIND) == BINARY_CLAMPED_GLU) {
        let factors = glu_factors(x, y);
        store(arg(args, ARG_OUT) + i, factors.x * factors.y);
        return;
    }
    store(arg(args, ARG_OUT) + i, combine(arg(args, BINARY_OP_KIND), vec4<f32>(x), vec4<f32>(y)).x);
}
