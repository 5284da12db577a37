// q5_k: 32 weights of 5 bits to a chunk, the fifth bits in a word of their own, with a factor and an offset of 8 bits;
// each 256 have two f16 factors of those.
const CHUNK = 32u;
// Scales and factors as they come, so that no thread waits for them before it needs them; `c`: where in their word.
struct bits_of_chunk { q: vec4<u32>, h: u32, s: u32, f: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let h = weight_words[m.at + m.chunks * 4u + c];
    let scales = m.at + m.chunks * 5u;
    return bits_of_chunk(q, h, weight_words[scales + c / 2u], weight_words[scales + m.chunks / 2u + c / 8u], c);
}
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 1u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return nibbles(b.q, j) | (moved(b.h, 4u, j) & 0x10101010u); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return scale_and_offset(b.s >> (b.c % 2u * 16u), b.f); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let f = factors_of(b);
    return fma(small(bytes_of(b, j), 31u), vec4<f32>(f.x), vec4<f32>(f.y));
}
