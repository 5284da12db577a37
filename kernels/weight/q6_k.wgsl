// q6_k: 32 weights of 6 bits to a chunk, the upper two in words of their own; each 16 have a factor of 8 bits, each 256
// an f16 factor of those.
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
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let high = small(select(b.second, b.first, j < 4u) >> (j % 4u * 2u), 3u) * 16.0;
    return (small(b.q[j / 2u] >> (j % 2u * 4u), 15u) + high - 32.0) * select(b.s.y, b.s.x, j < 4u);
}
