// The angles of RoPE, of two pairs at once. They are products of large positions, so that an error of exp2 in the last
// bits would be one of 1e-4 after some hundred positions, and GPUs take sines of many turns less exactly than of one.
// Sums are fma, so that all kernels have the same bits.

// position * 2^(pair * log2_ratio): a power of two times a polynomial, which is right to the last bit or two.
fn angles_of(position: f32, pair: vec2<f32>, log2_ratio: f32) -> vec2<f32> {
    let whole = round(pair * log2_ratio);
    let x = fma(pair, vec2<f32>(log2_ratio), -whole);
    var y = fma(x, vec2<f32>(1.5353362e-4), vec2<f32>(1.3398874e-3));
    y = fma(x, y, vec2<f32>(9.6184374e-3));
    y = fma(x, y, vec2<f32>(5.5503325e-2));
    y = fma(x, y, vec2<f32>(0.24022648));
    y = fma(x, y, vec2<f32>(0.6931472));
    y = fma(x, y, vec2<f32>(1.0));
    return position * (y * bitcast<vec2<f32>>((vec2<i32>(whole) + 127) << vec2<u32>(23u)));
}

// Less whole turns: 2 pi in three parts, the first two so short that products with the number of turns are exact.
fn within_a_turn(angle: vec2<f32>) -> vec2<f32> {
    let turns = -round(angle * 0.15915494);
    let less = fma(turns, vec2<f32>(0.0019340515), fma(turns, vec2<f32>(6.28125), angle));
    return fma(turns, vec2<f32>(1.2556659e-6), less);
}
