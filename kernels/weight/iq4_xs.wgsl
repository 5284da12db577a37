// iq4_xs: 32 indices of 4 bits to a chunk, into the table of iq4_nl, with a factor of 8 bits; each 256 have an f16
// factor of those.
const CHUNK = 32u;
// Scales and factors as they come, so that no thread waits for them before it needs them; `c`: where in their words.
struct bits_of_chunk { q: vec4<u32>, s: u32, d: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weights[m.at / 4u + c];
    let scales = m.at + m.chunks * 4u;
    return bits_of_chunk(q, weight_words[scales + c / 4u], weight_words[scales + m.chunks / 4u + c / 16u], c);
}
// The values of four nibbles, one in each byte; the table has four to a word.
fn iq4_values(q: u32) -> vec4<i32> {
    let n = (vec4<u32>(q) >> BYTES) & vec4<u32>(15u);
    let upper = (n & vec4<u32>(4u)) != vec4<u32>();
    let word = select(select(vec4<u32>(0xbfad9881u), vec4<u32>(0xf6eaddcfu), upper),
        select(vec4<u32>(0x26190d01u), vec4<u32>(0x71594535u), upper), (n & vec4<u32>(8u)) != vec4<u32>());
    return bitcast<vec4<i32>>(word << (vec4<u32>(24u) - (n & vec4<u32>(3u)) * 8u)) >> vec4<u32>(24u);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return vec4<f32>(iq4_values(b.q[j / 2u] >> (j % 2u * 4u))) * factor_of(b);
}
// For products of int8: include/weight.wgsl.
fn value_of(n: u32) -> u32 { return bitcast<u32>(iq4_values(n).x) & 255u; }
fn factor_of(b: bits_of_chunk) -> f32 {
    return unpack2x16float(b.d >> ((b.c & 8u) * 2u)).x * f32(signed_pair(b.s >> (b.c % 4u * 8u)).x);
}
