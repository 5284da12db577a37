// iq3_s: eight groups of four weights to a chunk, each an entry of a grid of 3-bit numbers (1, 3 .. 15), with a sign
// for each weight and a factor of 4 bits; each 256 have an f16 factor of those.
const CHUNK = 32u;
const IQ3_S_WORDS = 256u;
struct bits_of_chunk { e: vec4<u32>, signs: u32, d: f32 }
// Entry i of the grid, which a matrix begins with.
fn grid_at(m: matrix, i: u32) -> u32 { return (weight_words[m.at + i / 2u] >> (i % 2u * 16u)) & 0xffffu; }
fn grid_pair(m: matrix, i: u32, k: u32) -> u32 { return grid_at(m, i) | (grid_at(m, k) << 16u); }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let at = m.at + IQ3_S_WORDS;
    let scales = at + m.chunks * 3u;
    let s = weight_words[scales + c / 2u] >> (c % 2u * 16u); // the ninth bits of eight indices, and a factor
    let i = ((vec4<u32>(weight_words[at + c * 2u]) >> BYTES) & vec4<u32>(255u)) |
        ((vec4<u32>(s) << vec4<u32>(8u, 7u, 6u, 5u)) & vec4<u32>(256u));
    let k = ((vec4<u32>(weight_words[at + c * 2u + 1u]) >> BYTES) & vec4<u32>(255u)) |
        ((vec4<u32>(s) << vec4<u32>(4u, 3u, 2u, 1u)) & vec4<u32>(256u));
    let e = vec4<u32>(grid_pair(m, i.x, i.y), grid_pair(m, i.z, i.w), grid_pair(m, k.x, k.y), grid_pair(m, k.z, k.w));
    let d = half_at(scales + m.chunks / 2u, c / 8u) * f32(((s >> 8u) & 15u) * 2u + 1u);
    return bits_of_chunk(e, weight_words[at + m.chunks * 2u + c], d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let n = (vec4<u32>(b.e[j / 2u] >> (j % 2u * 16u)) >> vec4<u32>(0u, 3u, 6u, 9u)) & vec4<u32>(7u);
    return vec4<f32>(n * 2u + 1u) * (1.0 - bits(b.signs, 4u * j, 2.0)) * b.d;
}
