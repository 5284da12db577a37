const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, f: vec2<f32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let f = unpack2x16float(weight_words[m.at + m.chunks * 4u + c]);
    return bits_of_chunk(q, f);
}
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 8> {
    return array<vec4<f32>, 8>(small(b.q.x, 15u) * b.f.x + b.f.y, small(b.q.x >> 4u, 15u) * b.f.x + b.f.y,
                               small(b.q.y, 15u) * b.f.x + b.f.y, small(b.q.y >> 4u, 15u) * b.f.x + b.f.y,
                               small(b.q.z, 15u) * b.f.x + b.f.y, small(b.q.z >> 4u, 15u) * b.f.x + b.f.y,
                               small(b.q.w, 15u) * b.f.x + b.f.y, small(b.q.w >> 4u, 15u) * b.f.x + b.f.y);
}
