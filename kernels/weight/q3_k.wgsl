// q3_k: 32 weights of 3 bits to a chunk, the third bits in a word of their own; each 16 have a factor of 8 bits, each
// 256 an f16 factor of those.
const CHUNK = 32u;
// Scales and factors as they come, so that no thread waits for them before it needs them; `c`: where in their words.
struct bits_of_chunk { first: u32, second: u32, h: u32, s: u32, d: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let first = weight_words[m.at + c * 2u];
    let second = weight_words[m.at + c * 2u + 1u];
    let h = weight_words[m.at + m.chunks * 2u + c];
    let scales = m.at + m.chunks * 3u;
    return bits_of_chunk(first, second, h, weight_words[scales + c / 2u],
        weight_words[scales + m.chunks / 2u + c / 16u], c);
}
fn half_of_block(b: bits_of_chunk) -> f32 { return unpack2x16float(b.d >> ((b.c & 8u) * 2u)).x; }
// For products of int8: include/weight.wgsl.
const ZERO = 4i;
const OFFSETS = 0u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 {
    return ((select(b.second, b.first, j < 4u) >> (j % 4u * 2u)) & 0x03030303u) | (moved(b.h, 2u, j) & 0x04040404u);
}
fn scales_of(b: bits_of_chunk) -> vec2<i32> { return signed_pair(b.s >> (b.c % 2u * 16u)); }
fn offsets_of(b: bits_of_chunk) -> vec2<i32> { return vec2<i32>(); }
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return vec2<f32>(half_of_block(b), 0.0); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let s = vec2<f32>(scales_of(b)) * half_of_block(b);
    return (small(bytes_of(b, j), 7u) - 4.0) * select(s.y, s.x, j < 4u);
}
