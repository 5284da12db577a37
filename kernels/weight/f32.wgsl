// f32: four weights to a chunk.
const CHUNK = 4u;
struct bits_of_chunk { q: vec4<u32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk { return bits_of_chunk(weights[m.at / 4u + c]); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return bitcast<vec4<f32>>(b.q);
}
