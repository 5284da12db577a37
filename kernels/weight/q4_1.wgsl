const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let q = weights[m.at / 4u + c];
    let f = unpack2x16float(weight_words[m.at + m.chunks * 4u + c]);
    return array<vec4<f32>, 8>(small(q.x, 15u) * f.x + f.y, small(q.x >> 4u, 15u) * f.x + f.y,
                               small(q.y, 15u) * f.x + f.y, small(q.y >> 4u, 15u) * f.x + f.y,
                               small(q.z, 15u) * f.x + f.y, small(q.z >> 4u, 15u) * f.x + f.y,
                               small(q.w, 15u) * f.x + f.y, small(q.w >> 4u, 15u) * f.x + f.y);
}
