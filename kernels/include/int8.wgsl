// x for matmul_row.wgsl in workgroup memory, quantized to int8 with a factor for each 32 elements, and with the sums of
// those bytes that weights with a zero point or an offset need. The file that includes this one (include/x_int8*.wgsl)
// declares sum_of_own(a, b, upper), what a thread has of those sums, as a float; and make_table(local), for what
// weights need beside x.
const PIECE = PIECE_WORDS * THREADS; // elements of x that are quantized at a time: up to 8 of each thread
const LINES = 2u * STRIDE; // lines of bytes; behind them are the factors and sums
const FLOATS = LINES + (CHUNKS + 1u) / 2u; // from this line on: a piece of x as floats

fn put_x(i: u32, value: f32, inside: bool) {
    if (inside) { shared_x[i % 4u][FLOATS + i % PIECE / 4u] = bitcast<u32>(value); }
}

fn number_of(value: f32, up: f32) -> i32 { return i32(round(value * up)); }
fn scale_for(most: f32) -> f32 { return select(0.0, 127.0 * inverse_of(most), most > 1e-30); }
fn numbers_of(four: vec4<f32>, up: f32) -> vec4<i32> {
    return vec4<i32>(number_of(four.x, up), number_of(four.y, up), number_of(four.z, up), number_of(four.w, up));
}
fn bytes_of_numbers(n: vec4<i32>) -> u32 {
    let u = bitcast<vec4<u32>>(n) & vec4<u32>(255u);
    return u.x | (u.y << 8u) | (u.z << 16u) | (u.w << 24u);
}

// Quantizes a piece of x, when all of it is there. Four threads share a chunk, each with two of its vectors, so that
// neighbours read from different banks. The sum of integers as floats is exact. (Maxima and sums of integers over a
// subgroup were seen to come out wrong on NVIDIA.)
fn pack_x(piece: u32, local: u32, more: bool) {
    workgroupBarrier();
    if (piece == 0u) { make_table(local); }
    let in_piece = min(local / 4u, min(CHUNKS, PIECE / 32u) - 1u);
    let chunk = piece * (PIECE / 32u) + in_piece;
    let upper = local / 16u % 2u;
    let a = shared_x_vec4(FLOATS + in_piece * 8u + local % 4u + upper * 4u);
    let b = shared_x_vec4(FLOATS + in_piece * 8u + local % 4u + (1u - upper) * 4u);
    let larger = max(abs(a), abs(b));
    var most = max(max(larger.x, larger.y), max(larger.z, larger.w));
    most = max(most, shuffle_xor(most, 1u, local));
    most = max(most, shuffle_xor(most, 2u, local));
    let up = scale_for(most);
    let numbers_a = numbers_of(a, up);
    let numbers_b = numbers_of(b, up);
    var sum = sum_of_own(numbers_a, numbers_b, upper);
    sum += shuffle_xor(sum, 1u, local);
    sum += shuffle_xor(sum, 2u, local);
    if (in_piece == local / 4u && chunk < CHUNKS) {
        shared_x[local % 4u][upper * STRIDE + chunk] = bytes_of_numbers(numbers_a);
        shared_x[local % 4u][(1u - upper) * STRIDE + chunk] = bytes_of_numbers(numbers_b);
        if (local % 4u == 0u) {
            shared_x[chunk % 2u * 2u][LINES + chunk / 2u] = bitcast<u32>(most * (1.0 / 127.0));
            shared_x[chunk % 2u * 2u + 1u][LINES + chunk / 2u] = bitcast<u32>(i32(sum));
        }
    }
    if (more) { workgroupBarrier(); }
}
