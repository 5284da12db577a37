// q2_k: 32 weights of 2 bits to a chunk; each 16 have a factor and an offset of 4 bits, each 256 two f16 factors of
// those.
const CHUNK = 32u;
// Scales and factors as they come, so that no thread waits for them before it needs them; `c` says where in their word.
struct bits_of_chunk { first: u32, second: u32, s: u32, f: u32, c: u32 }
fn fetch(m: matrix, c: u32) -> bits_of_chunk {
    let first = weight_words[m.at + c * 2u];
    let second = weight_words[m.at + c * 2u + 1u];
    let scales = m.at + m.chunks * 2u;
    return bits_of_chunk(first, second, weight_words[scales + c / 2u],
        weight_words[scales + m.chunks / 2u + c / 8u], c);
}
// For products of int8: include/weight.wgsl.
const ZERO = 0i;
const OFFSETS = 1u;
fn bytes_of(b: bits_of_chunk, j: u32) -> u32 {
    return (select(b.second, b.first, j < 4u) >> (j % 4u * 2u)) & 0x03030303u;
}
fn scales_of(b: bits_of_chunk) -> vec2<i32> {
    return bitcast<vec2<i32>>((vec2<u32>(b.s >> (b.c % 2u * 16u)) >> vec2<u32>(0u, 8u)) & vec2<u32>(15u));
}
fn offsets_of(b: bits_of_chunk) -> vec2<i32> {
    return bitcast<vec2<i32>>((vec2<u32>(b.s >> (b.c % 2u * 16u)) >> vec2<u32>(4u, 12u)) & vec2<u32>(15u));
}
fn factors_of(b: bits_of_chunk) -> vec2<f32> { return unpack2x16float(b.f) * vec2<f32>(1.0, -1.0); }
fn weight_vec4(b: bits_of_chunk, j: u32) -> vec4<f32> {
    let f = factors_of(b);
    let d = f.x * vec2<f32>(scales_of(b));
    let low = f.y * vec2<f32>(offsets_of(b));
    return fma(small(bytes_of(b, j), 3u), vec4<f32>(select(d.y, d.x, j < 4u)), vec4<f32>(select(low.y, low.x, j < 4u)));
}
