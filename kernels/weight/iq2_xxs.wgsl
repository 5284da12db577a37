// iq2_xxs: four groups of eight weights to a chunk, each an entry of a grid of 2-bit numbers (8, 25, 43); seven signs
// for each, and a factor of 4 bits; each 256 have an f16 factor of those.
const CHUNK = 32u;
const IQ2_XXS_WORDS = 128u;
struct bits_of_chunk { first: u32, second: u32, signs: u32, d: f32 }
// Entry i of the grid, which a matrix begins with.
fn grid_at(m: matrix, i: u32) -> u32 { return (weight_words[m.at + i / 2u] >> (i % 2u * 16u)) & 0xffffu; }
fn grid_pair(m: matrix, i: u32, k: u32) -> u32 { return grid_at(m, i) | (grid_at(m, k) << 16u); }
// Four times seven signs; each eighth makes the number of those set even.
fn all_signs(seven: vec4<u32>) -> u32 {
    let s = (seven | ((countOneBits(seven) & vec4<u32>(1u)) << vec4<u32>(7u))) << BYTES;
    return s.x | s.y | s.z | s.w;
}
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ2_XXS_WORDS;
    let q = (vec4<u32>(weight_words[at + c * 2u]) >> BYTES) & vec4<u32>(255u);
    let rest = weight_words[at + c * 2u + 1u];
    let d = half_at(at + m.chunks * 2u, c / 8u) * ((0.5 + f32(rest >> 28u)) * 0.25);
    return bits_of_chunk(grid_pair(m, q.x, q.y), grid_pair(m, q.z, q.w),
        all_signs((vec4<u32>(rest) >> vec4<u32>(0u, 7u, 14u, 21u)) & vec4<u32>(127u)), d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let four = select(b.second, b.first, j < 4u) >> (j % 4u * 8u);
    let n = (vec4<u32>(four) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(3u);
    let value = vec4<f32>(n * 17u + (n >> vec4<u32>(1u)) + 8u) * (1.0 - bits(b.signs, 4u * j, 2.0));
    return value * b.d;
}
