// q4_1: 32 weights of 4 bits to a chunk; n * factor + offset, both f16.
const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, f: vec2<f32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let f = unpack2x16float(weight_words[m.at + m.chunks * 4u + c]);
    return bits_of_chunk(q, f);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return fma(small(b.q[j / 2u] >> (j % 2u * 4u), 15u), vec4<f32>(b.f.x), vec4<f32>(b.f.y));
}
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 1u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return nibbles(b.q, j); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return b.f; }
