// tq2_0: 32 weights of 2 bits to a chunk; (n - 1) * d, with an f16 factor d for each 256.
const CHUNK = 32u;
struct bits_of_chunk { first: u32, second: u32, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let first = weight_words[m.at + c * 2u];
    let second = weight_words[m.at + c * 2u + 1u];
    let d = half_at(m.at + m.chunks * 2u, c / 8u);
    return bits_of_chunk(first, second, d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return (small(select(b.second, b.first, j < 4u) >> (j % 4u * 2u), 3u) - 1.0) * b.d;
}
// For products of int8: include/weight.wgsl.
const ZERO = 1i;
const OFFSETS = 0u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 {
    return (select(b.second, b.first, j < 4u) >> (j % 4u * 2u)) & 0x03030303u;
}
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(b.d, 0.0); }
