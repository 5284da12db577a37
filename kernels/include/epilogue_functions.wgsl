// Functions that may stand in a product's epilogue: those of unary_kind (src/graph/graph.h) that need one exp at most,
// so that kernels stay short. src/graph/fuse.c has the same list.
fn function_of(kind: u32, x: f32, a: f32, b: f32) -> f32 {
    var u = x;
    switch (kind) {
        case UNARY_TANH: { u = 2.0 * x; }
        case UNARY_GELU: { u = 1.5957691216 * fma(0.044715 * x * x, x, x); }
        case UNARY_SOFTCAP: { u = 2.0 * x / a; }
        case UNARY_GELU_ERF: { u = 0.5 * x * x; }
        default: {}
    }
    let e = exp(-clamp(u, -80.0, 80.0));
    let s = 1.0 / (1.0 + e);
    switch (kind) {
        case UNARY_NEG: { return -x; }
        case UNARY_ABS: { return abs(x); }
        case UNARY_SQUARE: { return x * x; }
        case UNARY_TANH: { return 2.0 * s - 1.0; }
        case UNARY_SIGMOID: { return s; }
        case UNARY_RELU: { return max(x, 0.0); }
        case UNARY_SILU, UNARY_GELU: { return x * s; }
        case UNARY_GELU_ERF: { // as in unary.wgsl
            let t = 1.0 / fma(0.231641888, abs(x), 1.0);
            let p = fma(fma(fma(fma(1.061405429, t, -1.453152027), t, 1.421413741), t, -0.284496736), t, 0.254829592);
            let q = 0.5 * p * t;
            return x * select(q * e, fma(-q, e, 1.0), x > 0.0);
        }
        case UNARY_SCALE: { return fma(x, a, b); }
        case UNARY_SOFTCAP: { return fma(2.0 * a, s, -a); }
        default: { return x; }
    }
}
