const CHUNK = 32u;
struct bits_of_chunk { first: vec4<u32>, second: vec4<u32>, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let first = weights[m.at / 4u + c * 2u];
    let second = weights[m.at / 4u + c * 2u + 1u];
    let d = half_at(m.at + m.chunks * 8u, c);
    return bits_of_chunk(first, second, d);
}
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 8> {
    return array<vec4<f32>, 8>(signed(b.first.x) * b.d, signed(b.first.y) * b.d, signed(b.first.z) * b.d, signed(b.first.w) * b.d,
                               signed(b.second.x) * b.d, signed(b.second.y) * b.d, signed(b.second.z) * b.d, signed(b.second.w) * b.d);
}
