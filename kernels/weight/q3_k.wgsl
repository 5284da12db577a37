// q3_k: 32 weights of 3 bits to a chunk, the third bits in a word of their own; each 16 have a factor of 8 bits, each
// 256 an f16 factor of those.
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
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return (small(select(b.second, b.first, j < 4u) >> (j % 4u * 2u), 3u) + bits(b.h, 4u * j, 4.0) - 4.0) *
        select(b.s.y, b.s.x, j < 4u);
}
