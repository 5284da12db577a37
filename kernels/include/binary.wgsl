// Functions of two numbers, element by element: binary_kind of src/graph/graph.h.
fn combine(kind: u32, a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    switch (kind) {
        case BINARY_SUB: { return a - b; }
        case BINARY_MUL: { return a * b; }
        case BINARY_DIV: { return a / b; }
        case BINARY_MAX: { return max(a, b); }
        case BINARY_MIN: { return min(a, b); }
        default: { return a + b; }
    }
}
