// BINARY_CLAMPED_GLU of src/graph/graph.h: its two factors, whose product it is.
fn glu_factors(gate: f32, up: f32) -> vec2<f32> {
    let g = min(gate, 7.0);
    return vec2<f32>(g * (1.0 / (1.0 + exp(-max(1.702 * g, -80.0)))), clamp(up, -7.0, 7.0) + 1.0);
}
