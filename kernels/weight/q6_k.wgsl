const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, first: u32, second: u32, s: vec4<f32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let high = m.at + m.chunks * 4u;
    let first = weight_words[high + c * 2u];
    let second = weight_words[high + c * 2u + 1u];
    let scales = high + m.chunks * 2u;
    let s = signed(weight_words[scales + c / 2u] >> (c % 2u * 16u)) * half_at(scales + m.chunks / 2u, c / 8u);
    return bits_of_chunk(q, first, second, s);
}
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 8> {
    return array<vec4<f32>, 8>((small(b.q.x, 15u) + small(b.first, 3u) * 16.0 - 32.0) * b.s.x,
                               (small(b.q.x >> 4u, 15u) + small(b.first >> 2u, 3u) * 16.0 - 32.0) * b.s.x,
                               (small(b.q.y, 15u) + small(b.first >> 4u, 3u) * 16.0 - 32.0) * b.s.x,
                               (small(b.q.y >> 4u, 15u) + small(b.first >> 6u, 3u) * 16.0 - 32.0) * b.s.x,
                               (small(b.q.z, 15u) + small(b.second, 3u) * 16.0 - 32.0) * b.s.y,
                               (small(b.q.z >> 4u, 15u) + small(b.second >> 2u, 3u) * 16.0 - 32.0) * b.s.y,
                               (small(b.q.w, 15u) + small(b.second >> 4u, 3u) * 16.0 - 32.0) * b.s.y,
                               (small(b.q.w >> 4u, 15u) + small(b.second >> 6u, 3u) * 16.0 - 32.0) * b.s.y);
}
