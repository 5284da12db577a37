// x for matmul_row.wgsl in workgroup memory, as floats. The vectors of a chunk lie STRIDE apart, so that threads with
// neighbouring chunks read neighbouring vectors.
fn put_x(i: u32, value: f32, inside: bool) {
    if (inside) { shared_x[i % 4u][i / 4u % CHUNK_VEC4S * STRIDE + i / CHUNK] = bitcast<u32>(value); }
}
fn pack_x(piece: u32, local: u32, more: bool) {}

struct x_of_chunk {
//!for j CHUNK_VEC4S
    x_#j: vec4<f32>,
//!end
}

fn x_at(chunk: u32) -> x_of_chunk {
    var x: x_of_chunk;
//!for j CHUNK_VEC4S
    x.x_#j = select(vec4<f32>(), shared_x_vec4(#ju * STRIDE + min(chunk, CHUNKS - 1u)), vec4<bool>(chunk < CHUNKS));
//!end
    return x;
}

// Adds the products of a chunk of a row4 with the same chunk of x.
fn add_chunk(before: vec4<f32>, b: row4_bits, x: x_of_chunk) -> vec4<f32> {
    var sums = before;
//!for j CHUNK_VEC4S
    sums = add_vec4(sums, b, #ju, x.x_#j);
//!end
    return sums;
}
