// q4_0, a word of eight weights to a chunk, so that many threads can share a short row.
const CHUNK = 8u;
struct bits_of_chunk { q: u32, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weight_words[m.at + c];
    let d = half_at(m.at + m.chunks, c / 4u);
    return bits_of_chunk(q, d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return fma(plus_1024(b.q >> (j * 4u), 0x000f000fu), vec4<f32>(b.d), vec4<f32>(-1032.0 * b.d));
}
