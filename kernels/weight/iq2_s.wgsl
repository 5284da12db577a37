// iq2_s: four groups of eight weights to a chunk, each an entry of a grid of 8, 25 and 43, with a sign for each weight;
// each 16 have a factor of 4 bits, each 256 an f16 factor of those.
const CHUNK = 32u;
const IQ2_S_WORDS = 2048u;
// Everything as it comes, so that no thread waits for it before it needs it; `c`: where in words of scales.
struct bits_of_chunk { grid: u32, q: u32, signs: u32, s: u32, d: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ2_S_WORDS;
    let scales = at + m.chunks * 2u;
    return bits_of_chunk(m.at, weight_words[at + c * 2u], weight_words[at + c * 2u + 1u],
        weight_words[scales + c / 2u], weight_words[scales + m.chunks / 2u + c / 16u], c);
}
// Word i of the grid, which a matrix begins with.
fn grid_word(b: bits_of_chunk, i: u32) -> u32 { return weight_words[b.grid + i]; }
fn half_of_block(b: bits_of_chunk) -> f32 { return unpack2x16float(b.d >> ((b.c & 8u) * 2u)).x; }
// The upper bits of four indices, and two factors.
fn own_scales(b: bits_of_chunk) -> u32 { return b.s >> (b.c % 2u * 16u); }
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 0u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 {
    let i = ((b.q >> (j / 2u * 8u)) & 255u) | (moved(own_scales(b), 8u, j / 2u * 2u) & 768u);
    return with_signs(grid_word(b, i * 2u + j % 2u), b.signs, j);
}
fn scales_of(b: bits_of_chunk) -> vec2<i32> {
    return bitcast<vec2<i32>>(((vec2<u32>(own_scales(b)) >> vec2<u32>(8u, 12u)) & vec2<u32>(15u)) * 2u + 1u);
}
fn offsets_of(b: bits_of_chunk) -> vec2<i32> { return vec2<i32>(); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(half_of_block(b) * 0.125, 0.0); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let d = vec2<f32>(scales_of(b)) * factors_of(b).x;
    return signed(bytes_of(b, j)) * select(d.y, d.x, j < 4u);
}
