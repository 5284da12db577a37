const CHUNK = 32u;
struct bits_of_chunk { first: u32, second: u32, h: u32, s: vec4<f32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let first = weight_words[m.at + c * 2u];
    let second = weight_words[m.at + c * 2u + 1u];
    let h = weight_words[m.at + m.chunks * 2u + c];
    let scales = m.at + m.chunks * 3u;
    let s = signed(weight_words[scales + c / 2u] >> (c % 2u * 16u)) * half_at(scales + m.chunks / 2u, c / 8u);
    return bits_of_chunk(first, second, h, s);
}
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 8> {
    return array<vec4<f32>, 8>((small(b.first, 3u) + bits(b.h, 0u, 4.0) - 4.0) * b.s.x,
                               (small(b.first >> 2u, 3u) + bits(b.h, 4u, 4.0) - 4.0) * b.s.x,
                               (small(b.first >> 4u, 3u) + bits(b.h, 8u, 4.0) - 4.0) * b.s.x,
                               (small(b.first >> 6u, 3u) + bits(b.h, 12u, 4.0) - 4.0) * b.s.x,
                               (small(b.second, 3u) + bits(b.h, 16u, 4.0) - 4.0) * b.s.y,
                               (small(b.second >> 2u, 3u) + bits(b.h, 20u, 4.0) - 4.0) * b.s.y,
                               (small(b.second >> 4u, 3u) + bits(b.h, 24u, 4.0) - 4.0) * b.s.y,
                               (small(b.second >> 6u, 3u) + bits(b.h, 28u, 4.0) - 4.0) * b.s.y);
}
