// q4_0, four weights to a chunk, for software: each memory access in the text takes it long to compile.
const CHUNK = 4u;
struct bits_of_chunk { q: u32, d: f32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let q = weight_words[m.at + c / 2u] >> (c % 2u * 4u);
    let d = half_at(m.at + m.chunks / 2u, c / 8u);
    return bits_of_chunk(q, d);
}
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    return fma(plus_1024(b.q, 0x000f000fu), vec4<f32>(b.d), vec4<f32>(-1032.0 * b.d));
}
