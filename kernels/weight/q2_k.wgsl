const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let a = weight_words[m.at + c * 2u];
    let b = weight_words[m.at + c * 2u + 1u];
    let scales = m.at + m.chunks * 2u;
    let s = weight_words[scales + c / 2u] >> (c % 2u * 16u);
    let f = unpack2x16float(weight_words[scales + m.chunks / 2u + c / 8u]);
    let d = f.x * vec2<f32>(f32(s & 15u), f32((s >> 8u) & 15u));
    let low = f.y * vec2<f32>(f32((s >> 4u) & 15u), f32((s >> 12u) & 15u));
    return array<vec4<f32>, 8>(small(a, 3u) * d.x - low.x,
                               small(a >> 2u, 3u) * d.x - low.x,
                               small(a >> 4u, 3u) * d.x - low.x,
                               small(a >> 6u, 3u) * d.x - low.x,
                               small(b, 3u) * d.y - low.y,
                               small(b >> 2u, 3u) * d.y - low.y,
                               small(b >> 4u, 3u) * d.y - low.y,
                               small(b >> 6u, 3u) * d.y - low.y);
}
