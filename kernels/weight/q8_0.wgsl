// q8_0: 32 weights of 8 bits, signed, to a chunk; n * d, with an f16 factor d.
const CHUNK = 32u;
struct bits_of_chunk { first: vec4<u32>, second: vec4<u32>, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let first = weights[m.at / 4u + c * 2u];
    let second = weights[m.at / 4u + c * 2u + 1u];
    let d = half_at(m.at + m.chunks * 8u, c);
    return bits_of_chunk(first, second, d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return signed(select(b.second, b.first, j < 4u)[j % 4u]) * b.d;
}
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 0u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 { return select(b.second, b.first, j < 4u)[j % 4u]; }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(b.d, 0.0); }
//!for _ F16_MATH
fn weight_halves(b: bits_of_chunk, j: u32) -> vec2<u32> {
    let q = select(b.second, b.first, j < 4u)[j % 4u] ^ 0x80808080u; // plus 128
    let d = f16(b.d);
    return interleaved((halves_plus_1024(q, 0x00ff00ffu) - 1152.0h) * d,
        (halves_plus_1024(q >> 8u, 0x00ff00ffu) - 1152.0h) * d);
}
//!end
