// q4_0: 32 weights of 4 bits to a chunk; (n - 8) * d, with an f16 factor d.
const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let d = half_at(m.at + m.chunks * 4u, c);
    return bits_of_chunk(q, d);
}
// (n + 1024) * d - 1032 * d is exact: both products have few enough bits.
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return fma(plus_1024(b.q[j / 2u] >> (j % 2u * 4u), 0x000f000fu), vec4<f32>(b.d), vec4<f32>(-1032.0 * b.d));
}
// For products of int8: include/weight.wgsl.
const ZERO = 8i;
const OFFSETS = 0u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return nibbles(b.q, j); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(b.d, 0.0); }
//!for _ F16_MATH
fn weight_halves(b: bits_of_chunk, j: u32) -> vec2<u32> {
    let q = b.q[j / 2u] >> (j % 2u * 4u);
    let d = f16(b.d);
    return interleaved((halves_plus_1024(q, 0x000f000fu) - 1032.0h) * d,
        (halves_plus_1024(q >> 8u, 0x000f000fu) - 1032.0h) * d);
}
//!end
