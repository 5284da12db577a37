// Functions of two numbers, by src/graph/graph.h's binary_kind.
fn combine(kind: u32, a: f32, b: f32) -> f32 {
    switch (kind) {
        case 1u: { return a - b; }
        case 2u: { return a * b; }
        case 3u: { return a / b; }
        case 4u: { return max(a, b); }
        case 5u: { return min(a, b); }
        default: { return a + b; }
    }
}
