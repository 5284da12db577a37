// The sum of squares of a row that many threads put into workgroup memory, four elements at a time: by blocks of
// SUBGROUP vectors, so that the order of the sum does not depend on the number of threads.
var<workgroup> block_squares: array<f32, SHARED_X_WORDS / 4u / SUBGROUP + 1u>;

// In a fixed order, so that all kernels get the same sum.
fn squares_of_vec4(v: vec4<f32>) -> f32 { return fma(v.w, v.w, fma(v.z, v.z, fma(v.y, v.y, v.x * v.x))); }

// Vector number i of the row; all threads call this.
fn note_squares(i: u32, value: vec4<f32>) {
    let sum = sum_over_subgroup(squares_of_vec4(value), i);
    if (i % SUBGROUP == 0u && i < SHARED_X_WORDS / 4u) { block_squares[i / SUBGROUP] = sum; }
}

// The sum over `count` vectors, after a barrier.
fn noted_squares(count: u32, local: u32) -> f32 {
    var sum = 0.0;
    for (var b = local % SUBGROUP; b < (count + SUBGROUP - 1u) / SUBGROUP; b += SUBGROUP) { sum += block_squares[b]; }
    return sum_over_subgroup(sum, local);
}
