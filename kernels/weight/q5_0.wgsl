// q5_0: 32 weights of 5 bits to a chunk, the fifth bits in a word of their own; (n - 16) * d.
const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, h: u32, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let h = weight_words[m.at + m.chunks * 4u + c];
    let d = half_at(m.at + m.chunks * 5u, c);
    return bits_of_chunk(q, h, d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return (small(bytes_of(b, j), 31u) - 16.0) * b.d;
}
// For products of int8: include/weight.wgsl.
const ZERO = 16i;
const OFFSETS = 0u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return nibbles(b.q, j) | (moved(b.h, 4u, j) & 0x10101010u); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(b.d, 0.0); }
