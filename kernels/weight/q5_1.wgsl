const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, h: u32, f: vec2<f32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let h = weight_words[m.at + m.chunks * 4u + c];
    let f = unpack2x16float(weight_words[m.at + m.chunks * 5u + c]);
    return bits_of_chunk(q, h, f);
}
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 8> {
    return array<vec4<f32>, 8>((small(b.q.x, 15u) + bits(b.h, 0u, 16.0)) * b.f.x + b.f.y, (small(b.q.x >> 4u, 15u) + bits(b.h, 4u, 16.0)) * b.f.x + b.f.y,
                               (small(b.q.y, 15u) + bits(b.h, 8u, 16.0)) * b.f.x + b.f.y, (small(b.q.y >> 4u, 15u) + bits(b.h, 12u, 16.0)) * b.f.x + b.f.y,
                               (small(b.q.z, 15u) + bits(b.h, 16u, 16.0)) * b.f.x + b.f.y, (small(b.q.z >> 4u, 15u) + bits(b.h, 20u, 16.0)) * b.f.x + b.f.y,
                               (small(b.q.w, 15u) + bits(b.h, 24u, 16.0)) * b.f.x + b.f.y, (small(b.q.w >> 4u, 15u) + bits(b.h, 28u, 16.0)) * b.f.x + b.f.y);
}
