// iq3_xxs: eight groups of four weights to a chunk, each an entry of a grid of 3-bit numbers (4, 12, 20 .. 52, 62);
// seven signs for each eight weights, and a factor of 4 bits; each 256 have an f16 factor of those.
const CHUNK = 32u;
const IQ3_XXS_WORDS = 128u;
struct bits_of_chunk { e: vec4<u32>, signs: u32, d: f32 }
// Entry i of the grid, which a matrix begins with.
fn grid_at(m: matrix, i: u32) -> u32 { return (weight_words[m.at + i / 2u] >> (i % 2u * 16u)) & 0xffffu; }
fn grid_pair(m: matrix, i: u32, k: u32) -> u32 { return grid_at(m, i) | (grid_at(m, k) << 16u); }
// Four times seven signs; each eighth makes the number of those set even.
fn all_signs(seven: vec4<u32>) -> u32 {
    let s = (seven | ((countOneBits(seven) & vec4<u32>(1u)) << vec4<u32>(7u))) << BYTES;
    return s.x | s.y | s.z | s.w;
}
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ3_XXS_WORDS;
    let i = (vec4<u32>(weight_words[at + c * 2u]) >> BYTES) & vec4<u32>(255u);
    let k = (vec4<u32>(weight_words[at + c * 2u + 1u]) >> BYTES) & vec4<u32>(255u);
    let e = vec4<u32>(grid_pair(m, i.x, i.y), grid_pair(m, i.z, i.w), grid_pair(m, k.x, k.y), grid_pair(m, k.z, k.w));
    let rest = weight_words[at + m.chunks * 2u + c];
    let d = half_at(at + m.chunks * 3u, c / 8u) * ((0.5 + f32(rest >> 28u)) * 0.5);
    return bits_of_chunk(e, all_signs((vec4<u32>(rest) >> vec4<u32>(0u, 7u, 14u, 21u)) & vec4<u32>(127u)), d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let n = (vec4<u32>(b.e[j / 2u] >> (j % 2u * 16u)) >> vec4<u32>(0u, 3u, 6u, 9u)) & vec4<u32>(7u);
    let value = n * 8u + 4u + select(vec4<u32>(), vec4<u32>(2u), n == vec4<u32>(7u));
    return vec4<f32>(value) * (1.0 - bits(b.signs, 4u * j, 2.0)) * b.d;
}
