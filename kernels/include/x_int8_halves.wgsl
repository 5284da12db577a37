// x as int8 for weights that are bytes with a whole number as a factor, and another as an offset, for each half of a
// chunk, and with factors of those for the chunk: the halves' products are added as integers.
//!include "int8.wgsl"
fn make_table(local: u32) {}

// Both halves' sums in one number, which a float has room for: each is less than 2^12 and its multiple less than 2^24.
const SECOND = 8192i;
fn sum_of_own(a: vec4<i32>, b: vec4<i32>, upper: u32) -> f32 {
    let times_a = select(1i, SECOND, upper == 1u);
    let times_b = select(SECOND, 1i, upper == 1u);
    return f32((a.x + a.y + a.z + a.w) * times_a + (b.x + b.y + b.z + b.w) * times_b);
}

struct x_of_chunk {
    first: vec4<u32>,
    second: vec4<u32>,
    factor: f32,
    sums: vec2<i32>, // of each half's bytes
}

fn x_at(chunk: u32) -> x_of_chunk {
    let c = min(chunk, CHUNKS - 1u);
    let words = shared_x_words(LINES + c / 2u);
    let two = select(vec2<u32>(), select(words.xy, words.zw, c % 2u == 1u), chunk < CHUNKS);
    let both = bitcast<i32>(two.y);
    let sum = (both << 19u) >> 19u;
    return x_of_chunk(shared_x_words(c), shared_x_words(STRIDE + c), bitcast<f32>(two.x),
        vec2<i32>(sum, (both - sum) / SECOND));
}

// No two products of floats are added: which of them is rounded first would be the compiler's choice.
fn add_row(before: f32, b: bits_of_chunk, x: x_of_chunk) -> f32 {
    var sums = -ZERO * x.sums;
//!for j CHUNK_VEC4S
    sums[#ju / 4u] += dot4I8Packed(bytes_of(b, #ju), select(x.second, x.first, #ju < 4u)[#ju % 4u]);
//!end
    let factors = factors_of(b);
    let products = sums * scales_of(b);
    let row = fma(factors.x, x.factor * f32(products.x + products.y), before);
    if (OFFSETS == 0u) { return row; }
    let offsets = x.sums * offsets_of(b);
    return fma(factors.y, x.factor * f32(offsets.x + offsets.y), row);
}

fn add_chunk(before: vec4<f32>, b: row4_bits, x: x_of_chunk) -> vec4<f32> {
    return vec4<f32>(add_row(before.x, b.x, x), add_row(before.y, b.y, x), add_row(before.z, b.z, x),
        add_row(before.w, b.w, x));
}
