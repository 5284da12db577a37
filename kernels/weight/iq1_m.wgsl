// iq1_m: four groups of eight weights to a chunk, each an entry of a grid of -1, 0 and 1; those of a group are an
// eighth more or less; each 16 have a factor of 3 bits, each 256 an f16 factor of those.
const CHUNK = 32u;
const IQ1_M_WORDS = 1024u;
struct bits_of_chunk { first: u32, second: u32, shifts: vec4<f32>, d: vec2<f32> }
// Entry i of the grid, which a matrix begins with.
fn grid_at(m: matrix, i: u32) -> u32 { return (weight_words[m.at + i / 2u] >> (i % 2u * 16u)) & 0xffffu; }
fn grid_pair(m: matrix, i: u32, k: u32) -> u32 { return grid_at(m, i) | (grid_at(m, k) << 16u); }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ1_M_WORDS;
    let scales = at + m.chunks + c / 8u * 6u;
    let high = weight_words[scales + c % 8u / 2u] >> (c % 2u * 16u);
    let s = (vec4<u32>(high) >> vec4<u32>(0u, 4u, 8u, 12u)) & vec4<u32>(15u);
    let f = weight_words[scales + 4u + c % 8u / 4u] >> (c % 4u * 8u);
    let i = ((vec4<u32>(weight_words[at + c]) >> BYTES) & vec4<u32>(255u)) | ((s & vec4<u32>(7u)) << vec4<u32>(8u));
    let d = half_at(at + m.chunks + m.chunks / 8u * 6u, c / 8u) *
        vec2<f32>(f32((f & 7u) * 2u + 1u), f32(((f >> 3u) & 7u) * 2u + 1u));
    return bits_of_chunk(grid_pair(m, i.x, i.y), grid_pair(m, i.z, i.w),
        select(vec4<f32>(-0.875), vec4<f32>(-1.125), s >= vec4<u32>(8u)), d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let four = select(b.second, b.first, j < 4u) >> (j % 4u * 8u);
    let n = (vec4<u32>(four) >> vec4<u32>(0u, 2u, 4u, 6u)) & vec4<u32>(3u);
    return (vec4<f32>(n) + b.shifts[j / 2u]) * select(b.d.y, b.d.x, j < 4u);
}
