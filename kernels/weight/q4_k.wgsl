// q4_k: 32 weights of 4 bits to a chunk, with a factor and an offset of 8 bits; each 256 have two f16 factors of those.
const CHUNK = 32u;
// Scales and factors as they come, so that no thread waits for them before it needs them; `c`: where in their word.
struct bits_of_chunk { q: vec4<u32>, s: u32, f: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let scales = m.at + m.chunks * 4u;
    return bits_of_chunk(q, weight_words[scales + c / 2u], weight_words[scales + m.chunks / 2u + c / 8u], c);
}
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 1u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return nibbles(b.q, j); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return scale_and_offset(b.s >> (b.c % 2u * 16u), b.f); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let f = factors_of(b);
    return fma(small(b.q[j / 2u] >> (j % 2u * 4u), 15u), vec4<f32>(f.x), vec4<f32>(f.y));
}
//!for _ F16_MATH
fn weight_halves(b: bits_of_chunk, j: u32) -> vec2<u32> {
    let q = b.q[j / 2u] >> (j % 2u * 4u);
    let f = factors_of(b);
    let d = vec2<f16>(f16(f.x));
    let low = vec2<f16>(f16(f.y));
    return interleaved(fma(halves_plus_1024(q, 0x000f000fu) - 1024.0h, d, low),
        fma(halves_plus_1024(q >> 8u, 0x000f000fu) - 1024.0h, d, low));
}
//!end
