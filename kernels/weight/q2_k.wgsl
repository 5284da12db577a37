const CHUNK = 32u;
struct bits_of_chunk { first: u32, second: u32, d: vec2<f32>, low: vec2<f32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let first = weight_words[m.at + c * 2u];
    let second = weight_words[m.at + c * 2u + 1u];
    let scales = m.at + m.chunks * 2u;
    let s = weight_words[scales + c / 2u] >> (c % 2u * 16u);
    let f = unpack2x16float(weight_words[scales + m.chunks / 2u + c / 8u]);
    let d = f.x * vec2<f32>(f32(s & 15u), f32((s >> 8u) & 15u));
    let low = f.y * vec2<f32>(f32((s >> 4u) & 15u), f32((s >> 12u) & 15u));
    return bits_of_chunk(first, second, d, low);
}
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 8> {
    return array<vec4<f32>, 8>(small(b.first, 3u) * b.d.x - b.low.x,
                               small(b.first >> 2u, 3u) * b.d.x - b.low.x,
                               small(b.first >> 4u, 3u) * b.d.x - b.low.x,
                               small(b.first >> 6u, 3u) * b.d.x - b.low.x,
                               small(b.second, 3u) * b.d.y - b.low.y,
                               small(b.second >> 2u, 3u) * b.d.y - b.low.y,
                               small(b.second >> 4u, 3u) * b.d.y - b.low.y,
                               small(b.second >> 6u, 3u) * b.d.y - b.low.y);
}
