// iq1_s: four groups of eight weights to a chunk, each an entry of a grid of -1, 0 and 1; all are an eighth more or
// less, times a factor of 3 bits; each 256 have an f16 factor of those.
const CHUNK = 32u;
const IQ1_S_WORDS = 2048u;
// Everything as it comes, so that no thread waits for it before it needs it; `c`: where in words of scales.
struct bits_of_chunk { grid: u32, q: u32, s: u32, d: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ1_S_WORDS;
    let scales = at + m.chunks;
    return bits_of_chunk(m.at, weight_words[at + c], weight_words[scales + c / 2u],
        weight_words[scales + m.chunks / 2u + c / 16u], c);
}
// Word i of the grid, which a matrix begins with.
fn grid_word(b: bits_of_chunk, i: u32) -> u32 { return weight_words[b.grid + i]; }
fn half_of_block(b: bits_of_chunk) -> f32 { return unpack2x16float(b.d >> ((b.c & 8u) * 2u)).x; }
// The upper bits of four indices, a factor, and which eighth.
fn own_scales(b: bits_of_chunk) -> u32 { return b.s >> (b.c % 2u * 16u); }
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 1u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 {
    let i = ((b.q >> (j / 2u * 8u)) & 255u) | (moved(own_scales(b), 8u, j / 2u * 3u) & 1792u);
    return (grid_word(b, i) >> (j % 2u * 4u)) & 0x0f0f0f0fu;
}
fn factors_of(b: bits_of_chunk) -> vec2<f32> {
    let s = own_scales(b);
    let d = half_of_block(b) * f32(((s >> 12u) & 7u) * 2u + 1u);
    return vec2<f32>(d, d * select(-0.875, -1.125, (s & 0x8000u) != 0u));
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let f = factors_of(b);
    return fma(small(bytes_of(b, j), 15u), vec4<f32>(f.x), vec4<f32>(f.y));
}
