// 1 / value by Newton's method, the same in every kernel: compilers divide in more than one way, with results that
// differ in the last bit.
fn inverse_of(value: f32) -> f32 {
    let guess = bitcast<f32>(0x7ef311c7u - bitcast<u32>(value));
    let nearer = guess * fma(-value, guess, 2.0);
    let near = nearer * fma(-value, nearer, 2.0);
    return near * fma(-value, near, 2.0);
}
