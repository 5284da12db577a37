// Functions of one number, with constants a and b: unary_kind of src/graph/graph.h.
fn function_of(kind: u32, x: f32, a: f32, b: f32) -> f32 {
    switch (kind) {
        case UNARY_NEG: { return -x; }
        case UNARY_ABS: { return abs(x); }
        case UNARY_SQUARE: { return x * x; }
        case UNARY_SQRT: { return sqrt(x); }
        case UNARY_EXP: { return exp(x); }
        case UNARY_LOG: { return log(x); }
        case UNARY_TANH: { return tanh(clamp(x, -15.0, 15.0)); }
        case UNARY_SIGMOID: { return 1.0 / (1.0 + exp(-x)); }
        case UNARY_RELU: { return max(x, 0.0); }
        case UNARY_SILU: { return x / (1.0 + exp(-x)); }
        case UNARY_GELU: {
            return 0.5 * x * (1.0 + tanh(clamp(0.7978845608 * (x + 0.044715 * x * x * x), -15.0, 15.0)));
        }
        case UNARY_SIN: { return sin(x); }
        case UNARY_COS: { return cos(x); }
        case UNARY_GELU_ERF: { // x times the normal distribution, which a polynomial gives within 1e-7
            let t = 1.0 / fma(0.231641888, abs(x), 1.0);
            let p = fma(fma(fma(fma(1.061405429, t, -1.453152027), t, 1.421413741), t, -0.284496736), t, 0.254829592);
            let q = 0.5 * p * t;
            let e = exp(-0.5 * x * x);
            return x * select(q * e, fma(-q, e, 1.0), x > 0.0);
        }
        case UNARY_SCALE: { return x * a + b; }
        case UNARY_SOFTCAP: { return a * tanh(clamp(x / a, -15.0, 15.0)); }
        default: { return x; }
    }
}
