// bf16: eight weights to a chunk; the upper halves of floats.
const CHUNK = 8u;
struct bits_of_chunk { q: vec4<u32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk { return bits_of_chunk(weights[m.at / 4u + c]); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let w = select(b.q.zw, b.q.xy, j == 0u);
    return bitcast<vec4<f32>>(vec4<u32>(w.x << 16u, w.x & 0xffff0000u, w.y << 16u, w.y & 0xffff0000u));
}
