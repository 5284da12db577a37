// f16: eight weights to a chunk.
const CHUNK = 8u;
struct bits_of_chunk { q: vec4<u32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk { return bits_of_chunk(weights[m.at / 4u + c]); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let w = select(b.q.zw, b.q.xy, j == 0u);
    return vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y));
}
