// The sum of squares of a row that many threads read, as in squares_subgroup.wgsl, without subgroups: each thread adds
// up what it has read. Here the order of the sum does depend on the number of threads.
var<private> own_squares: f32;

fn note_squares(i: u32, value: vec4<f32>) { own_squares += dot(value, value); }

// After a barrier.
fn noted_squares(count: u32, local: u32) -> f32 {
    let sum = sum_of_all(own_squares, local);
    own_squares = 0.0;
    return sum;
}
