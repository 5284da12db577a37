// mxfp4: 32 numbers of 4 bits (sign, two bits of exponent, one of fraction) to a chunk, times a power of two, whose
// exponent is a byte. The table has twice the numbers.
const CHUNK = 32u;
struct bits_of_chunk { q: vec4<u32>, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let exponent = (weight_words[m.at + m.chunks * 4u + c / 4u] >> (c % 4u * 8u)) & 255u;
    let d = bitcast<f32>(select((exponent - 1u) << 23u, 0x00200000u << exponent, exponent < 2u));
    return bits_of_chunk(q, d);
}
// The values of four nibbles, one in each byte; the table has four to a word.
fn mxfp4_values(q: u32) -> vec4<i32> {
    let n = (vec4<u32>(q) >> BYTES) & vec4<u32>(15u);
    let upper = (n & vec4<u32>(4u)) != vec4<u32>();
    let word = select(select(vec4<u32>(0x03020100u), vec4<u32>(0x0c080604u), upper),
        select(vec4<u32>(0xfdfeff00u), vec4<u32>(0xf4f8fafcu), upper), (n & vec4<u32>(8u)) != vec4<u32>());
    return bitcast<vec4<i32>>(word << (vec4<u32>(24u) - (n & vec4<u32>(3u)) * 8u)) >> vec4<u32>(24u);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return vec4<f32>(mxfp4_values(b.q[j / 2u] >> (j % 2u * 4u))) * b.d;
}
// For products of int8: include/weight.wgsl.
fn value_of(n: u32) -> u32 { return bitcast<u32>(mxfp4_values(n).x) & 255u; }
fn factor_of(b: bits_of_chunk) -> f32 { return b.d; }
