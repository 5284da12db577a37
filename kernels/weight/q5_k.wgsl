// q5_k: 32 weights of 5 bits to a chunk, the fifth bits in a word of their own, with a factor and an offset of 8 bits;
// each 256 have two f16 factors of those.
const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, h: u32, d: f32, low: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let h = weight_words[m.at + m.chunks * 4u + c];
    let scales = m.at + m.chunks * 5u;
    let f = unpack2x16float(weight_words[scales + m.chunks / 2u + c / 8u]);
    let s = vec2<u32>(weight_words[scales + c / 8u * 4u + c % 8u / 4u],
        weight_words[scales + c / 8u * 4u + 2u + c % 8u / 4u]) >> vec2<u32>(c % 4u * 8u);
    let d = f.x * f32(s.x & 255u);
    let low = f.y * f32(s.y & 255u);
    return bits_of_chunk(q, h, d, low);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return fma(small(bytes_of(b, j), 31u), vec4<f32>(b.d), vec4<f32>(-b.low));
}
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 1u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return nibbles(b.q, j) | (moved(b.h, 4u, j) & 0x10101010u); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(b.d, -b.low); }
