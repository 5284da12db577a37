// out[i] = f(x[i]). Arguments: 1 out, 2 x, 3 count, 4 which function, 5 and 6 its constants.
//!include "graph.wgsl"

fn function_of(kind: u32, x: f32, a: f32, b: f32) -> f32 {
    switch (kind) {
        case 1u: { return -x; }
        case 2u: { return abs(x); }
        case 3u: { return x * x; }
        case 4u: { return sqrt(x); }
        case 5u: { return exp(x); }
        case 6u: { return log(x); }
        case 7u: { return tanh(clamp(x, -15.0, 15.0)); }
        case 8u: { return 1.0 / (1.0 + exp(-x)); }
        case 9u: { return max(x, 0.0); }
        case 10u: { return x / (1.0 + exp(-x)); }
        case 11u: { return 0.5 * x * (1.0 + tanh(clamp(0.7978845608 * (x + 0.044715 * x * x * x), -15.0, 15.0))); }
        case 12u: { return sin(x); }
        case 13u: { return cos(x); }
        case 14u: { return x * a + b; }
        case 15u: { return a * tanh(clamp(x / a, -15.0, 15.0)); }
        default: { return x; }
    }
}

fn body(v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i < arg(3)) { store(arg(1) + i, function_of(arg(4), load(arg(2) + i), arg_float(5), arg_float(6))); }
}
