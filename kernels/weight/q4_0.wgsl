const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let q = weights[m.at / 4u + c];
    let d = half_at(m.at + m.chunks * 4u, c);
    return array<vec4<f32>, 8>((small(q.x, 15u) - 8.0) * d, (small(q.x >> 4u, 15u) - 8.0) * d,
                               (small(q.y, 15u) - 8.0) * d, (small(q.y >> 4u, 15u) - 8.0) * d,
                               (small(q.z, 15u) - 8.0) * d, (small(q.z >> 4u, 15u) - 8.0) * d,
                               (small(q.w, 15u) - 8.0) * d, (small(q.w >> 4u, 15u) - 8.0) * d);
}
