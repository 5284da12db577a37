// A chunk of each row of a quad.
struct quad_bits {
    x: bits_of_chunk,
    y: bits_of_chunk,
    z: bits_of_chunk,
    w: bits_of_chunk,
}

fn fetch_quad(q: quad_rows, chunks: u32, chunk: u32) -> quad_bits {
    let c = min(chunk, chunks - 1u);
    return quad_bits(fetch(matrix(q.at.x, q.chunks), q.rows.x * chunks + c), fetch(matrix(q.at.y, q.chunks), q.rows.y * chunks + c),
                     fetch(matrix(q.at.z, q.chunks), q.rows.z * chunks + c), fetch(matrix(q.at.w, q.chunks), q.rows.w * chunks + c));
}

// Its fours number j, each by the same four of x.
fn dot_four(b: quad_bits, j: u32, x: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(dot(four(b.x, j), x), dot(four(b.y, j), x), dot(four(b.z, j), x), dot(four(b.w, j), x));
}
