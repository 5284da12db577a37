// x for matmul_slots.wgsl in workgroup memory, as floats: a segment of every row. The vectors of a chunk lie STRIDE
// apart, so that threads with neighbouring chunks read neighbouring vectors.
fn make_table(local: u32) {}

fn put_element(row: u32, i: u32, value: f32) {
    if (i < SEGMENT_CHUNKS * CHUNK && row < ROWS) {
        shared_x[i % 4u][(row * CHUNK_VEC4S + i / 4u % CHUNK_VEC4S) * STRIDE + i / CHUNK] = bitcast<u32>(value);
    }
}

fn pack_vec4(value: vec4<f32>, i: u32, local: u32) -> vec4<f32> { return value; }
fn put_row(row: u32, i: u32, elements: vec4<u32>, value: vec4<f32>) {
    put_element(row, elements.x, value.x);
    put_element(row, elements.y, value.y);
    put_element(row, elements.z, value.z);
    put_element(row, elements.w, value.w);
}

// Adds the products of a chunk of a row4 with chunk `here` of every row of x: weights are unpacked once.
fn add_rows(sums: ptr<function, row_sums>, bits: row4_bits, here: u32) {
//!for j CHUNK_VEC4S
    let x_#j = weight_vec4(bits.x, #ju);
    let y_#j = weight_vec4(bits.y, #ju);
    let z_#j = weight_vec4(bits.z, #ju);
    let w_#j = weight_vec4(bits.w, #ju);
//!for b ROWS
    let own_#j_#b = shared_x_vec4((#bu * CHUNK_VEC4S + #ju) * STRIDE + here);
    (*sums).of_#b = vec4<f32>(add_products((*sums).of_#b.x, x_#j, own_#j_#b),
        add_products((*sums).of_#b.y, y_#j, own_#j_#b), add_products((*sums).of_#b.z, z_#j, own_#j_#b),
        add_products((*sums).of_#b.w, w_#j, own_#j_#b));
//!end
//!end
}
