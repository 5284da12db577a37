const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let q = weights[m.at / 4u + c];
    let high = m.at + m.chunks * 4u;
    let a = weight_words[high + c * 2u];
    let b = weight_words[high + c * 2u + 1u];
    let scales = high + m.chunks * 2u;
    let s = signed(weight_words[scales + c / 2u] >> (c % 2u * 16u)) * half_at(scales + m.chunks / 2u, c / 8u);
    return array<vec4<f32>, 8>((small(q.x, 15u) + small(a, 3u) * 16.0 - 32.0) * s.x,
                               (small(q.x >> 4u, 15u) + small(a >> 2u, 3u) * 16.0 - 32.0) * s.x,
                               (small(q.y, 15u) + small(a >> 4u, 3u) * 16.0 - 32.0) * s.x,
                               (small(q.y >> 4u, 15u) + small(a >> 6u, 3u) * 16.0 - 32.0) * s.x,
                               (small(q.z, 15u) + small(b, 3u) * 16.0 - 32.0) * s.y,
                               (small(q.z >> 4u, 15u) + small(b >> 2u, 3u) * 16.0 - 32.0) * s.y,
                               (small(q.w, 15u) + small(b >> 4u, 3u) * 16.0 - 32.0) * s.y,
                               (small(q.w >> 4u, 15u) + small(b >> 6u, 3u) * 16.0 - 32.0) * s.y);
}
