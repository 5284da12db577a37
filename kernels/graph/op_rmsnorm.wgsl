// RMSNorm of each row: x / sqrt(mean(x^2) + epsilon) * (weight + weight offset), and another row added to it if there
// is one. What a thread reads at once is in flight all together.
override THREADS = 256u;
const TEAM = 32u;
override HALVES = 0u; // 1: the result goes to activations as f16
override ELEMENTS = 1u; // of a row that a thread reads at once
//!include "graph.wgsl"
//!include "floats.wgsl"
//!include "reduce_REDUCE.wgsl"

fn normed(args: u32, row: u32, i: u32, scale: f32) -> f32 {
    return load(arg(args, ARG_X) + row + i) * scale *
        (load(arg(args, RMSNORM_WEIGHT) + i) + arg_float(args, RMSNORM_WEIGHT_OFFSET));
}

// The sum of squares of the elements from `first` on that a thread reads at once.
fn squares_of_elements(args: u32, row: u32, first: u32, local: u32) -> f32 {
    let last = arg(args, ARG_LENGTH) - 1u;
    let x = arg(args, ARG_X) + row;
//!for e ELEMENTS
    let i_#e = first + local + #eu * THREADS;
    var bits_#e: u32;
//!end
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        var missing = 0u;
//!for e ELEMENTS
        bits_#e = bits_at(x + min(i_#e, last));
//!end
//!for e ELEMENTS
        missing |= is_stale(bits_#e);
//!end
        if (missing == 0u || arg(args, RMSNORM_X_COMPUTED) == 0u || !keep_spinning(spins)) { break; }
    }
    var sum = 0.0;
//!for e ELEMENTS
    let value_#e = select(0.0, float_of(bits_#e), i_#e <= last);
    sum = fma(value_#e, value_#e, sum);
//!end
    return rounded(vec4<f32>(sum)).x;
}

// Elements from `first` on of the result.
fn put_elements_normed(args: u32, row: u32, first: u32, scale: f32, local: u32) {
    let last = arg(args, ARG_LENGTH) - 1u;
    let added = arg(args, RMSNORM_ADDED) > 0u;
    let other = select(arg(args, ARG_X), arg(args, RMSNORM_ADDED) - 1u, added) + row;
//!for e ELEMENTS
    let i_#e = min(first + local + #eu * THREADS, last);
    var bits_#e: u32;
    let y_#e = rounded(vec4<f32>(normed(args, row, i_#e, scale))).x;
//!end
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        var missing = 0u;
//!for e ELEMENTS
        bits_#e = bits_at(other + i_#e);
//!end
//!for e ELEMENTS
        missing |= is_stale(bits_#e);
//!end
        if (missing == 0u || arg(args, RMSNORM_ADDED_COMPUTED) == 0u || !keep_spinning(spins)) { break; }
    }
//!for e ELEMENTS
    if (first + local + #eu * THREADS <= last) {
        store(arg(args, ARG_OUT) + row + i_#e, select(y_#e, y_#e + float_of(bits_#e), added));
    }
//!end
}

fn body(args: u32, v: u32, local: u32) {
    let row = v * arg(args, ARG_LENGTH);
    var sum = 0.0;
    for (var i = 0u; i < arg(args, ARG_LENGTH); i += ELEMENTS * THREADS) {
        sum += squares_of_elements(args, row, i, local);
    }
    let scale = inverseSqrt(fma(rounded(vec4<f32>(sum_of_all(sum, local))).x, arg_float(args, RMSNORM_SHARE),
        arg_float(args, RMSNORM_EPSILON)));
    if (HALVES == 1u) {
        for (var i = 2u * local; i < arg(args, ARG_LENGTH); i += 2u * THREADS) {
            store_word(arg(args, ARG_OUT) + (row + i) / 2u,
                halves_to_store(vec2<f32>(normed(args, row, i, scale), normed(args, row, i + 1u, scale))));
        }
        return;
    }
    for (var i = 0u; i < arg(args, ARG_LENGTH); i += ELEMENTS * THREADS) {
        put_elements_normed(args, row, i, scale, local);
    }
}
