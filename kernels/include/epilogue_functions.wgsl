// The functions that may come after a product, by src/graph/graph.h's unary_kind: those that one exp is enough for, so
// that kernels stay short. src/graph/fuse.c knows which.
fn function_of(kind: u32, x: f32, a: f32, b: f32) -> f32 {
    var u = x;
    switch (kind) {
        case 7u: { u = 2.0 * x; }                                             // tanh
        case 11u: { u = 1.5957691216 * fma(0.044715 * x * x, x, x); }          // gelu
        case 15u: { u = 2.0 * x / a; }                                        // softcap
        default: {}
    }
    let s = 1.0 / (1.0 + exp(-clamp(u, -80.0, 80.0)));
    switch (kind) {
        case 1u: { return -x; }
        case 2u: { return abs(x); }
        case 3u: { return x * x; }
        case 7u: { return 2.0 * s - 1.0; }
        case 8u: { return s; }
        case 9u: { return max(x, 0.0); }
        case 10u, 11u: { return x * s; }
        case 14u: { return fma(x, a, b); }
        case 15u: { return fma(2.0 * a, s, -a); }
        default: { return x; }
    }
}
