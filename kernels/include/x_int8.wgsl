// x as int8 for weights that are bytes with a factor and an offset for each chunk: four products are then one
// instruction.
//!include "int8.wgsl"
fn make_table(local: u32) {}

fn sum_of_own(a: vec4<i32>, b: vec4<i32>, upper: u32) -> f32 {
    let four = a + b;
    return f32(four.x + four.y + four.z + four.w);
}

struct x_of_chunk {
    first: vec4<u32>,
    second: vec4<u32>,
    factor: f32,
    sum: i32, // of the bytes
}

fn x_at(chunk: u32) -> x_of_chunk {
    let c = min(chunk, CHUNKS - 1u);
    let words = shared_x_words(LINES + c / 2u);
    let two = select(vec2<u32>(), select(words.xy, words.zw, c % 2u == 1u), chunk < CHUNKS);
    return x_of_chunk(shared_x_words(c), shared_x_words(STRIDE + c), bitcast<f32>(two.x), bitcast<i32>(two.y));
}

// No two products are added: which of them is rounded first would be the compiler's choice.
fn add_row(before: f32, b: bits_of_chunk, x: x_of_chunk) -> f32 {
    var sum = -ZERO * x.sum;
//!for j CHUNK_VEC4S
    sum += dot4I8Packed(bytes_of(b, #ju), select(x.second, x.first, #ju < 4u)[#ju % 4u]);
//!end
    let factors = factors_of(b);
    let row = fma(factors.x, x.factor * f32(sum), before);
    if (OFFSETS == 0u) { return row; }
    return fma(factors.y, x.factor * f32(x.sum), row);
}

fn add_chunk(before: vec4<f32>, b: row4_bits, x: x_of_chunk) -> vec4<f32> {
    return vec4<f32>(add_row(before.x, b.x, x), add_row(before.y, b.y, x), add_row(before.z, b.z, x),
        add_row(before.w, b.w, x));
}
