// x as int8 for weights that are indices of four bits into a table of bytes. Indices are looked up two at a time: a
// table of pairs in workgroup memory takes a load for two weights, where selecting in registers takes a dozen
// instructions for each.
//!include "int8.wgsl"
fn sum_of_own(a: vec4<i32>, b: vec4<i32>, upper: u32) -> f32 { return 0.0; }

var<workgroup> pair_of: array<u32, 256>; // for a byte: the values of its low and its high four bits, twice
fn make_table(local: u32) {
    for (var i = local; i < 256u; i += THREADS) {
        pair_of[i] = (value_of(i % 16u) | (value_of(i / 16u) << 8u)) * 0x10001u;
    }
}

// Bytes in the order in which pairs come: a byte of indices has a weight's and that of the fourth one after it.
struct x_of_chunk {
//!for j CHUNK_VEC4S
    x_#j: u32,
//!end
    factor: f32,
}

// Bytes 0 and 1 of two words, by turns.
fn by_turns(a: u32, b: u32) -> u32 {
    return (a & 0xffu) | ((b & 0xffu) << 8u) | ((a & 0xff00u) << 8u) | ((b & 0xff00u) << 16u);
}

fn x_at(chunk: u32) -> x_of_chunk {
    let c = min(chunk, CHUNKS - 1u);
    let words = shared_x_words(LINES + c / 2u);
    let first = shared_x_words(c);
    let second = shared_x_words(STRIDE + c);
    var x: x_of_chunk;
//!for j CHUNK_VEC4S
    let four_#j = select(second, first, #ju < 4u);
    let half_#j = #ju % 2u * 16u;
    x.x_#j = by_turns(four_#j[#ju % 4u / 2u * 2u] >> half_#j, four_#j[#ju % 4u / 2u * 2u + 1u] >> half_#j);
//!end
    x.factor = bitcast<f32>(select(0u, select(words.x, words.z, c % 2u == 1u), chunk < CHUNKS));
    return x;
}

fn add_row(before: f32, b: bits_of_chunk, x: x_of_chunk) -> f32 {
    var sum = 0i;
//!for j CHUNK_VEC4S
    let two_#j = b.q[#ju / 2u] >> (#ju % 2u * 16u);
    sum += dot4I8Packed((pair_of[two_#j & 255u] & 0xffffu) | (pair_of[(two_#j >> 8u) & 255u] & 0xffff0000u), x.x_#j);
//!end
    return fma(factor_of(b), x.factor * f32(sum), before);
}

fn add_chunk(before: vec4<f32>, b: row4_bits, x: x_of_chunk) -> vec4<f32> {
    return vec4<f32>(add_row(before.x, b.x, x), add_row(before.y, b.y, x), add_row(before.z, b.z, x),
        add_row(before.w, b.w, x));
}
