const CHUNK = 8u;
struct bits_of_chunk { q: vec4<u32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk { return bits_of_chunk(weights[m.at / 4u + c]); }
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 2> {
    return array<vec4<f32>, 2>(vec4<f32>(unpack2x16float(b.q.x), unpack2x16float(b.q.y)), vec4<f32>(unpack2x16float(b.q.z), unpack2x16float(b.q.w)));
}
