// A chunk of each row of a row4.
struct row4_bits {
    x: bits_of_chunk,
    y: bits_of_chunk,
    z: bits_of_chunk,
    w: bits_of_chunk,
}

fn fetch_row4(q: row4_rows, chunks: u32, chunk: u32) -> row4_bits {
    let c = min(chunk, chunks - 1u);
    return row4_bits(fetch(matrix(q.at.x, q.chunks), q.rows.x * chunks + c), fetch(matrix(q.at.y, q.chunks), q.rows.y * chunks + c),
                     fetch(matrix(q.at.z, q.chunks), q.rows.z * chunks + c), fetch(matrix(q.at.w, q.chunks), q.rows.w * chunks + c));
}

// In an order that is said, so that all kernels do the same: `dot` may be added up in any.
fn add_products(sum: f32, four: vec4<f32>, x: vec4<f32>) -> f32 { return fma(four.w, x.w, fma(four.z, x.z, fma(four.y, x.y, fma(four.x, x.x, sum)))); }

// Its fours number j, each by the same four of x, on top of what there is.
fn add_four(sums: vec4<f32>, b: row4_bits, j: u32, x: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(add_products(sums.x, four(b.x, j), x), add_products(sums.y, four(b.y, j), x), add_products(sums.z, four(b.z, j), x), add_products(sums.w, four(b.w, j), x));
}
