const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let q = weights[m.at / 4u + c];
    let h = weight_words[m.at + m.chunks * 4u + c];
    let scales = m.at + m.chunks * 5u;
    let f = unpack2x16float(weight_words[scales + m.chunks / 2u + c / 8u]);
    let s = vec2<u32>(weight_words[scales + c / 8u * 4u + c % 8u / 4u], weight_words[scales + c / 8u * 4u + 2u + c % 8u / 4u]) >> vec2<u32>(c % 4u * 8u);
    let d = f.x * f32(s.x & 255u);
    let low = f.y * f32(s.y & 255u);
    return array<vec4<f32>, 8>((small(q.x, 15u) + bits(h, 0u, 16.0)) * d - low, (small(q.x >> 4u, 15u) + bits(h, 4u, 16.0)) * d - low,
                               (small(q.y, 15u) + bits(h, 8u, 16.0)) * d - low, (small(q.y >> 4u, 15u) + bits(h, 12u, 16.0)) * d - low,
                               (small(q.z, 15u) + bits(h, 16u, 16.0)) * d - low, (small(q.z >> 4u, 15u) + bits(h, 20u, 16.0)) * d - low,
                               (small(q.w, 15u) + bits(h, 24u, 16.0)) * d - low, (small(q.w >> 4u, 15u) + bits(h, 28u, 16.0)) * d - low);
}
