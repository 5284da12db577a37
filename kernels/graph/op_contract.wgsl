// out[i] = the sum over k of x * y, each read through strides over the dimensions of the result and along k. A thread
// has a sum, in one order whatever the number of threads.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, CONTRACT_COUNT)) { return; }
    var rest = i;
    var x = arg(args, ARG_X);
    var y = arg(args, CONTRACT_Y);
    for (var d = 6u; d > 0u; d--) {
        let at = rest % arg(args, CONTRACT_DIMS - 1u + d);
        rest /= arg(args, CONTRACT_DIMS - 1u + d);
        x += at * arg(args, CONTRACT_X_STRIDES - 1u + d);
        y += at * arg(args, CONTRACT_Y_STRIDES - 1u + d);
    }
    var sum = 0.0;
    for (var k = 0u; k < at_run_time(arg(args, CONTRACT_K)); k++) {
        let factor = polled(x, arg(args, CONTRACT_X_COMPUTED) == 1u);
        sum = fma(factor, polled(y, arg(args, CONTRACT_Y_COMPUTED) == 1u), sum);
        x += arg(args, CONTRACT_X_STRIDE);
        y += arg(args, CONTRACT_Y_STRIDE);
    }
    store(arg(args, ARG_OUT) + i, sum);
}
