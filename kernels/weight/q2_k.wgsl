// q2_k: 32 weights of 2 bits to a chunk; each 16 have a factor and an offset of 4 bits, each 256 two f16 factors of
// those.
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
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return small(select(b.second, b.first, j < 4u) >> (j % 4u * 2u), 3u) * select(b.d.y, b.d.x, j < 4u) -
        select(b.low.y, b.low.x, j < 4u);
}
