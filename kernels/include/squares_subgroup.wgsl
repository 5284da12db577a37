// The sum of squares of a row that many threads put into workgroup memory, element by element: by blocks of SUBGROUP
// elements, so that the order of the sum does not depend on the number of threads.
var<workgroup> block_squares: array<f32, STAGED / SUBGROUP>;

fn note_square(i: u32, value: f32) {
    let sum = subgroupAdd(value * value);
    if (i % SUBGROUP == 0u && i < STAGED) { block_squares[i / SUBGROUP] = sum; }
}

// After a barrier. `count`: elements, a multiple of 32.
fn noted_squares(count: u32, local: u32) -> f32 {
    var sum = 0.0;
    for (var b = local % SUBGROUP; b < count / SUBGROUP; b += SUBGROUP) { sum += block_squares[b]; }
    return subgroupAdd(sum);
}
