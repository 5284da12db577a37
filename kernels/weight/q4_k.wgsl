const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let q = weights[m.at / 4u + c];
    let scales = m.at + m.chunks * 4u;
    let f = unpack2x16float(weight_words[scales + m.chunks / 2u + c / 8u]);
    let s = vec2<u32>(weight_words[scales + c / 8u * 4u + c % 8u / 4u], weight_words[scales + c / 8u * 4u + 2u + c % 8u / 4u]) >> vec2<u32>(c % 4u * 8u);
    let d = f.x * f32(s.x & 255u);
    let low = f.y * f32(s.y & 255u);
    return array<vec4<f32>, 8>(small(q.x, 15u) * d - low, small(q.x >> 4u, 15u) * d - low,
                               small(q.y, 15u) * d - low, small(q.y >> 4u, 15u) * d - low,
                               small(q.z, 15u) * d - low, small(q.z >> 4u, 15u) * d - low,
                               small(q.w, 15u) * d - low, small(q.w >> 4u, 15u) * d - low);
}
