const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let d = half_at(m.at + m.chunks * 4u, c);
    return bits_of_chunk(q, d);
}
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 8> {
    return array<vec4<f32>, 8>((small(b.q.x, 15u) - 8.0) * b.d, (small(b.q.x >> 4u, 15u) - 8.0) * b.d,
                               (small(b.q.y, 15u) - 8.0) * b.d, (small(b.q.y >> 4u, 15u) - 8.0) * b.d,
                               (small(b.q.z, 15u) - 8.0) * b.d, (small(b.q.z >> 4u, 15u) - 8.0) * b.d,
                               (small(b.q.w, 15u) - 8.0) * b.d, (small(b.q.w >> 4u, 15u) - 8.0) * b.d);
}
