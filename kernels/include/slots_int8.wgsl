// x for matmul_slots.wgsl in workgroup memory, a segment of every row, quantized to int8 as matmul_row.wgsl has it,
// with the same arithmetic: with a factor for each 32 elements, and the sums of their bytes. Each row has ROW_LINES
// lines.
const PIECE_WORDS = 8u; // of a thread, for what is not used here
//!include "x_XTYPE.wgsl" x_at(chunk:=x_of_row(of_row:u32,chunk: shared_x_words(=row_words(of_row,

const ROW_LINES = LINES + (STRIDE + 1u) / 2u;
fn row_words(first: u32, line: u32) -> vec4<u32> { return shared_x_words(first + line); }

// Eight neighbouring threads have a chunk. Which word of it is a thread's: elements 4k to 4k+3 are word k.
fn word_of(i: u32) -> u32 { return i % 4u * 2u + i % 8u / 4u; }

// Thread i of the eight has elements i, 8 + i, 16 + i and 24 + i, and its word is that of four neighbours' bytes: four
// by four bytes change places, first every other one, then halves.
fn turned(bytes: u32, i: u32, local: u32) -> u32 {
    let beside = bitcast<u32>(shuffle_xor(bitcast<f32>(bytes), 1u, local));
    let two = select((bytes & 0x00ff00ffu) | ((beside & 0x00ff00ffu) << 8u),
        ((beside >> 8u) & 0x00ff00ffu) | (bytes & 0xff00ff00u), i % 2u == 1u);
    let behind = bitcast<u32>(shuffle_xor(bitcast<f32>(two), 2u, local));
    return select((two & 0xffffu) | (behind << 16u), (behind >> 16u) | (two & 0xffff0000u), i % 4u > 1u);
}

fn sum_of_bytes(numbers: vec4<i32>, i: u32) -> f32 {
    return sum_of_own(vec4<i32>(numbers.xy, 0i, 0i), vec4<i32>(numbers.zw, 0i, 0i), 0u);
}

// A thread's word of four elements of a row, and their chunk's maximum and sum of bytes.
struct packed_vec4 {
    bytes: u32,
    most: f32,
    sum: f32,
}

fn pack_vec4(value: vec4<f32>, i: u32, local: u32) -> packed_vec4 {
    let larger = abs(value);
    var most = max(max(larger.x, larger.y), max(larger.z, larger.w));
    most = max(most, shuffle_xor(most, 1u, local));
    most = max(most, shuffle_xor(most, 2u, local));
    most = max(most, shuffle_xor(most, 4u, local));
    let numbers = numbers_of(value, scale_for(most));
    var sum = sum_of_bytes(numbers, i);
    sum += shuffle_xor(sum, 1u, local);
    sum += shuffle_xor(sum, 2u, local);
    sum += shuffle_xor(sum, 4u, local);
    return packed_vec4(turned(bytes_of_numbers(numbers), i, local), most, sum);
}

fn put_row(row: u32, i: u32, elements: vec4<u32>, packed: packed_vec4) {
    if (i < SEGMENT_CHUNKS * CHUNK_VEC4S && row < ROWS) {
        let chunk = i / 8u;
        let first = row * ROW_LINES;
        let word = word_of(i);
        shared_x[word % 4u][first + word / 4u * STRIDE + chunk] = packed.bytes;
        if (i % 8u == 0u) {
            shared_x[chunk % 2u * 2u][first + LINES + chunk / 2u] = bitcast<u32>(packed.most * (1.0 / 127.0));
            shared_x[chunk % 2u * 2u + 1u][first + LINES + chunk / 2u] = bitcast<u32>(i32(packed.sum));
        }
    }
}

fn add_rows(sums: ptr<function, row_sums>, bits: row4_bits, here: u32) {
//!for b ROWS
    (*sums).of_#b = add_chunk((*sums).of_#b, bits, x_of_row(#bu * ROW_LINES, here));
//!end
}
