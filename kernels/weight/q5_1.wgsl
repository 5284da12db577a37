// q5_1: 32 weights of 5 bits to a chunk, the fifth bits in a word of their own; n * factor + offset.
const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, h: u32, f: vec2<f32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let h = weight_words[m.at + m.chunks * 4u + c];
    let f = unpack2x16float(weight_words[m.at + m.chunks * 5u + c]);
    return bits_of_chunk(q, h, f);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return fma(small(bytes_of(b, j), 31u), vec4<f32>(b.f.x), vec4<f32>(b.f.y));
}
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 1u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return nibbles(b.q, j) | (moved(b.h, 4u, j) & 0x10101010u); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return b.f; }
