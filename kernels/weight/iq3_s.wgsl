// iq3_s: eight groups of four weights to a chunk, each an entry of a grid of 1, 3, 5 .. 15, with a sign for each weight
// and a factor of 4 bits; each 256 have an f16 factor of those.
const CHUNK = 32u;
const IQ3_S_WORDS = 512u;
// Everything as it comes, so that no thread waits for it before it needs it; `c`: where in words of scales.
struct bits_of_chunk { grid: u32, first: u32, second: u32, signs: u32, s: u32, d: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ3_S_WORDS;
    let scales = at + m.chunks * 3u;
    return bits_of_chunk(m.at, weight_words[at + c * 2u], weight_words[at + c * 2u + 1u],
        weight_words[at + m.chunks * 2u + c], weight_words[scales + c / 2u],
        weight_words[scales + m.chunks / 2u + c / 16u], c);
}
// Word i of the grid, which a matrix begins with.
fn grid_word(b: bits_of_chunk, i: u32) -> u32 { return weight_words[b.grid + i]; }
fn half_of_block(b: bits_of_chunk) -> f32 { return unpack2x16float(b.d >> ((b.c & 8u) * 2u)).x; }
// The ninth bits of eight indices, and a factor.
fn own_scales(b: bits_of_chunk) -> u32 { return b.s >> (b.c % 2u * 16u); }
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 0u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 {
    let i = (select(b.second, b.first, j < 4u) >> (j % 4u * 8u)) & 255u;
    return with_signs(grid_word(b, i | (moved(own_scales(b), 8u, j) & 256u)), b.signs, j);
}
fn factors_of(b: bits_of_chunk) -> vec2<f32> {
    return vec2<f32>(half_of_block(b) * f32(((own_scales(b) >> 8u) & 15u) * 2u + 1u), 0.0);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> { return signed(bytes_of(b, j)) * factors_of(b).x; }
