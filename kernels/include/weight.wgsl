// Matrices of weights as src/graph/layout.h puts them: planes of chunks. A type's file (kernels/weight) gives CHUNK,
// `fetch(m, c)`, which reads chunk c, and `four(bits, j)`, its weights 4j to 4j+3: apart, so that reading can prefetch long
// before. bits_of_chunk is what lies between. Types that have one factor and one offset for a chunk also give `bytes_of(bits, j)`, those
// weights as whole numbers of a byte each, of which ZERO stands for nothing, and `factors_of(bits)`, the second only if there are OFFSETS.
struct matrix {
    at: u32,     // the word it begins at
    chunks: u32, // in all its rows
}

const BYTES = vec4<u32>(0u, 8u, 16u, 24u);

// Four numbers of up to eight bits from the bytes of a word.
fn small(word: u32, mask: u32) -> vec4<f32> { return vec4<f32>((vec4<u32>(word) >> BYTES) & vec4<u32>(mask)); }
fn signed(word: u32) -> vec4<f32> { return vec4<f32>(bitcast<vec4<i32>>(vec4<u32>(word) << (vec4<u32>(24u) - BYTES)) >> vec4<u32>(24u)); }
// Bits i, i+1, i+2, i+3 of a word, each as 0 or `worth`.
fn bits(word: u32, i: u32, worth: f32) -> vec4<f32> {
    return vec4<f32>((vec4<u32>(word) >> (vec4<u32>(0u, 1u, 2u, 3u) + vec4<u32>(i))) & vec4<u32>(1u)) * worth;
}
// Four numbers of four bits, 4j to 4j+3 of a chunk of 32, one in each byte.
fn nibbles(q: vec4<u32>, j: u32) -> u32 { return (q[j / 2u] >> (j % 2u * 4u)) & 0x0f0f0f0fu; }
// A word's four lowest bits, one in each byte.
fn bit_to_byte(word: u32) -> u32 { return ((word & 15u) * 0x00204081u) & 0x01010101u; }
// The i-th half from word `at` on.
fn half_at(at: u32, i: u32) -> f32 { return unpack2x16float(weight_words[at + i / 2u] >> ((i % 2u) * 16u)).x; }

// Four small whole numbers, each plus 1024, from the bytes of a word under a mask: put behind the leading bit of a half
// they are halves, and turning two halves into floats is one step on most devices, where two numbers are two.
fn plus_1024(word: u32, mask: u32) -> vec4<f32> {
    let even = unpack2x16float((word & mask) | 0x64006400u);
    let odd = unpack2x16float(((word >> 8u) & mask) | 0x64006400u);
    return vec4<f32>(even.x, odd.x, even.y, odd.y);
}
