// Matrices of weights as src/graph/layout.h lays them out: planes of chunks. The file of a weight type (kernels/weight)
// declares
//   CHUNK                 weights of a chunk
//   bits_of_chunk         what is read of a chunk
//   fetch(m, c)           reads chunk c of matrix m
//   weight_vec4(bits, j)  its weights 4j to 4j+3; separate from fetch, so that reading can begin long before
// and for products of int8
//   bytes_of(bits, j)     those weights as four bytes, which mean (byte - ZERO) * factor + offset
//   factors_of(bits)      factor and offset, if a chunk has one of each;
//   scales_of(bits)       otherwise whole numbers for the halves of the chunk, by which that factor is multiplied,
//   offsets_of(bits)      and those by which the offset is
//   ZERO, OFFSETS         OFFSETS = 0: all offsets are 0
// or, if they are indices of four bits in bits.q,
//   value_of(n)           the byte of index n, which means that number times the factor
//   factor_of(bits)
struct matrix {
    at: u32,     // the word it begins at
    chunks: u32, // in all its rows
}

// 1: there are f16, and types with few bits make them of weights: two to a word, weights 4j to 4j+3 by
// weight_halves(bits, j)
override F16_MATH = 0u;

const BYTES = vec4<u32>(0u, 8u, 16u, 24u);

// The bytes of a word as four numbers: unsigned ones under a mask, and signed ones.
fn small(word: u32, mask: u32) -> vec4<f32> { return vec4<f32>((vec4<u32>(word) >> BYTES) & vec4<u32>(mask)); }
fn signed(word: u32) -> vec4<f32> {
    return vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(word) << (vec4<u32>(24u) - BYTES)) >> vec4<u32>(24u));
}
// Numbers 4j to 4j+3 of a chunk of 32 numbers of four bits, one in each byte.
fn nibbles(q: vec4<u32>, j: u32) -> u32 { return (q[j / 2u] >> (j % 2u * 4u)) & 0x0f0f0f0fu; }
// A word with its bit i at bit k.
fn moved(word: u32, k: u32, i: u32) -> u32 {
    return select(word << ((k - i) & 31u), word >> ((i - k) & 31u), i > k);
}
// A word's two lowest bytes, signed.
fn signed_pair(word: u32) -> vec2<i32> {
    return bitcast<vec2<i32>>(vec2<u32>(word) << vec2<u32>(24u, 16u)) >> vec2<u32>(24u);
}
// Four bytes of numbers above 0, each with its sign: those of weights 4j to 4j+3 are bit j of each byte of `signs`.
fn with_signs(numbers: u32, signs: u32, j: u32) -> u32 {
    let negative = (signs >> j) & 0x01010101u;
    return (numbers ^ (negative * 255u)) + negative;
}
// A scale and a minimum, which are two bytes, times their f16 factors; minima are subtracted.
fn scale_and_offset(pair: u32, f: u32) -> vec2<f32> {
    return vec2<f32>(f32(pair & 255u), -f32((pair >> 8u) & 255u)) * unpack2x16float(f);
}
// The i-th half from word `at` on.
fn half_at(at: u32, i: u32) -> f32 { return unpack2x16float(weight_words[at + i / 2u] >> ((i % 2u) * 16u)).x; }

//!for _ F16_MATH
// Halves 0 and 2, and 1 and 3, in their order, two to a word.
fn interleaved(even: vec2<f16>, odd: vec2<f16>) -> vec2<u32> {
    return vec2<u32>(bitcast<u32>(vec2<f16>(even.x, odd.x)), bitcast<u32>(vec2<f16>(even.y, odd.y)));
}
// Bytes 0 and 2 of a word under a mask, each plus 1024.
fn halves_plus_1024(word: u32, mask: u32) -> vec2<f16> { return bitcast<vec2<f16>>((word & mask) | 0x64006400u); }
//!end

// The bytes of a word under a mask as four numbers, each plus 1024: behind the exponent of the half 1024.0 they are the
// low bits of its mantissa, and converting two halves to floats is one instruction on most devices, where two integers
// take two.
fn plus_1024(word: u32, mask: u32) -> vec4<f32> {
    let even = unpack2x16float((word & mask) | 0x64006400u);
    let odd = unpack2x16float(((word >> 8u) & mask) | 0x64006400u);
    return vec4<f32>(even.x, odd.x, even.y, odd.y);
}
