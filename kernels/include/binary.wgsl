// Functions of two numbers, four times, by src/graph/graph.h's binary_kind.
fn combine(kind: u32, a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    switch (kind) {
        case 1u: { return a - b; }
        case 2u: { return a * b; }
        case 3u: { return a / b; }
        case 4u: { return max(a, b); }
        case 5u: { return min(a, b); }
        default: { return a + b; }
    }
}
