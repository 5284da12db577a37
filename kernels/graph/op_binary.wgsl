// out[i] = x[i] op y[..], y broadcast. Arguments: 1 out, 2 x, 3 y, 4 count, 5 which; 8 to 11 the dimensions of x,
// 12 to 15 how far apart y's elements are along each (0: the same one again).
const THREADS = 64u;
//!include "graph.wgsl"
//!include "binary.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, 4)) { return; }
    var rest = i;
    var at = arg(args, 3);
    for (var d = 4u; d > 0u; d--) {
        at += rest % arg(args, 7u + d) * arg(args, 11u + d);
        rest /= arg(args, 7u + d);
    }
    store(arg(args, 1) + i, combine(arg(args, 5), vec4<f32>(load(arg(args, 2) + i)), vec4<f32>(load(at))).x);
}
