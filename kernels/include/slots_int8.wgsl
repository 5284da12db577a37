// x for matmul_slots.wgsl in workgroup memory, a segment of every row, quantized to int8 as matmul_row.wgsl has it,
// with the same arithmetic: with a factor for each 32 elements, and the sums of their bytes. Each row has ROW_LINES
// lines.
const PIECE_WORDS = 8u; // of a thread, for what is not used here
//!include "x_XTYPE.wgsl" x_at(chunk:=x_of_row(first:u32,chunk: shared_x_words(=row_words(first,

const ROW_LINES = LINES + (STRIDE + 1u) / 2u;
fn row_words(first: u32, line: u32) -> vec4<u32> { return shared_x_words(first + line); }

// Eight neighbouring threads have a chunk, each a vector of it.
fn put_row(row: u32, i: u32, value: vec4<f32>, inside: bool, local: u32) {
    let larger = abs(value);
    var most = max(max(larger.x, larger.y), max(larger.z, larger.w));
    most = max(most, shuffle_xor(most, 1u, local));
    most = max(most, shuffle_xor(most, 2u, local));
    most = max(most, shuffle_xor(most, 4u, local));
    let numbers = numbers_of(value, scale_for(most));
    let half = i % 8u / 4u;
    var sum = sum_of_own(numbers, vec4<i32>(), half);
    sum += shuffle_xor(sum, 1u, local);
    sum += shuffle_xor(sum, 2u, local);
    sum += shuffle_xor(sum, 4u, local);
    if (inside) {
        let chunk = i / 8u;
        let first = row * ROW_LINES;
        shared_x[i % 4u][first + half * STRIDE + chunk] = bytes_of_numbers(numbers);
        if (i % 8u == 0u) {
            shared_x[chunk % 2u * 2u][first + LINES + chunk / 2u] = bitcast<u32>(most * (1.0 / 127.0));
            shared_x[chunk % 2u * 2u + 1u][first + LINES + chunk / 2u] = bitcast<u32>(i32(sum));
        }
    }
}

fn add_rows(sums: ptr<function, row_sums>, bits: row4_bits, here: u32) {
//!for b ROWS
    (*sums).of_#b = add_chunk((*sums).of_#b, bits, x_of_row(#bu * ROW_LINES, here));
//!end
}
