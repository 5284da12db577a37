// iq1_m: four groups of eight weights to a chunk, each an entry of a grid of -1, 0 and 1; those of a group are an
// eighth more or less; each 16 have a factor of 3 bits, each 256 an f16 factor of those.
const CHUNK = 32u;
const IQ1_M_WORDS = 2048u;
// Everything as it comes, so that no thread waits for it before it needs it; `c`: where in words of scales.
struct bits_of_chunk { grid: u32, q: u32, high: u32, s: u32, d: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ1_M_WORDS;
    let scales = at + m.chunks + c / 8u * 6u;
    return bits_of_chunk(m.at, weight_words[at + c], weight_words[scales + c % 8u / 2u],
        weight_words[scales + 4u + c % 8u / 4u], weight_words[at + m.chunks + m.chunks / 8u * 6u + c / 16u], c);
}
// Word i of the grid, which a matrix begins with.
fn grid_word(b: bits_of_chunk, i: u32) -> u32 { return weight_words[b.grid + i]; }
fn half_of_block(b: bits_of_chunk) -> f32 { return unpack2x16float(b.d >> ((b.c & 8u) * 2u)).x; }
// For each group: the upper bits of its index, and which eighth.
fn own_groups(b: bits_of_chunk) -> u32 { return b.high >> (b.c % 2u * 16u); }
// For products of int8: include/weight.wgsl.
const ZERO = 9i;
const OFFSETS = 0u;
// Eight times a weight, plus 9.
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 {
    let high = own_groups(b) >> (j / 2u * 4u);
    let i = ((b.q >> (j / 2u * 8u)) & 255u) | ((high & 7u) << 8u);
    return ((grid_word(b, i) >> (j % 2u * 4u)) & 0x0f0f0f0fu) * 8u + select(0x02020202u, 0u, (high & 8u) != 0u);
}
fn scales_of(b: bits_of_chunk) -> vec2<i32> {
    return bitcast<vec2<i32>>(((vec2<u32>(b.s >> (b.c % 4u * 8u)) >> vec2<u32>(0u, 3u)) & vec2<u32>(7u)) * 2u + 1u);
}
fn offsets_of(b: bits_of_chunk) -> vec2<i32> { return vec2<i32>(); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(half_of_block(b) * 0.125, 0.0); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let d = vec2<f32>(scales_of(b)) * factors_of(b).x;
    return (small(bytes_of(b, j), 31u) - 9.0) * select(d.y, d.x, j < 4u);
}
