const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let a = weight_words[m.at + c * 2u];
    let b = weight_words[m.at + c * 2u + 1u];
    let h = weight_words[m.at + m.chunks * 2u + c];
    let scales = m.at + m.chunks * 3u;
    let s = signed(weight_words[scales + c / 2u] >> (c % 2u * 16u)) * half_at(scales + m.chunks / 2u, c / 8u);
    return array<vec4<f32>, 8>((small(a, 3u) + bits(h, 0u, 4.0) - 4.0) * s.x,
                               (small(a >> 2u, 3u) + bits(h, 4u, 4.0) - 4.0) * s.x,
                               (small(a >> 4u, 3u) + bits(h, 8u, 4.0) - 4.0) * s.x,
                               (small(a >> 6u, 3u) + bits(h, 12u, 4.0) - 4.0) * s.x,
                               (small(b, 3u) + bits(h, 16u, 4.0) - 4.0) * s.y,
                               (small(b >> 2u, 3u) + bits(h, 20u, 4.0) - 4.0) * s.y,
                               (small(b >> 4u, 3u) + bits(h, 24u, 4.0) - 4.0) * s.y,
                               (small(b >> 6u, 3u) + bits(h, 28u, 4.0) - 4.0) * s.y);
}
