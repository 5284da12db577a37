const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let d = half_at(m.at + m.chunks * 4u, c);
    return bits_of_chunk(q, d);
}
fn four(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return (small(b.q[j / 2u] >> (j % 2u * 4u), 15u) - 8.0) * b.d;
}
