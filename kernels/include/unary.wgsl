// Functions of one number, by src/graph/graph.h's unary_kind.
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
