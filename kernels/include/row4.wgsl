// Reading and multiplying a row4: four rows of a matrix, a chunk of each at a time.
struct row4_bits {
    x: bits_of_chunk,
    y: bits_of_chunk,
    z: bits_of_chunk,
    w: bits_of_chunk,
}

fn fetch_row4(q: row4_rows, chunks: u32, chunk: u32) -> row4_bits {
    let c = min(chunk, chunks - 1u);
    return row4_bits(fetch(matrix(q.at.x, q.chunks), q.rows.x * chunks + c),
        fetch(matrix(q.at.y, q.chunks), q.rows.y * chunks + c),
                     fetch(matrix(q.at.z, q.chunks), q.rows.z * chunks + c),
                         fetch(matrix(q.at.w, q.chunks), q.rows.w * chunks + c));
}

// In a fixed order, so that all kernels get the same sums: `dot` may add in any.
fn add_products(sum: f32, four: vec4<f32>, x: vec4<f32>) -> f32 {
    return fma(four.w, x.w, fma(four.z, x.z, fma(four.y, x.y, fma(four.x, x.x, sum))));
}

// Adds the products of weights 4j to 4j+3 of each row's chunk with four elements of x to the four rows' sums.
fn add_vec4(sums: vec4<f32>, b: row4_bits, j: u32, x: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(add_products(sums.x, weight_vec4(b.x, j), x), add_products(sums.y, weight_vec4(b.y, j), x),
        add_products(sums.z, weight_vec4(b.z, j), x), add_products(sums.w, weight_vec4(b.w, j), x));
}
