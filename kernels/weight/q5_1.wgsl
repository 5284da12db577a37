const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let q = weights[m.at / 4u + c];
    let h = weight_words[m.at + m.chunks * 4u + c];
    let f = unpack2x16float(weight_words[m.at + m.chunks * 5u + c]);
    return array<vec4<f32>, 8>((small(q.x, 15u) + bits(h, 0u, 16.0)) * f.x + f.y, (small(q.x >> 4u, 15u) + bits(h, 4u, 16.0)) * f.x + f.y,
                               (small(q.y, 15u) + bits(h, 8u, 16.0)) * f.x + f.y, (small(q.y >> 4u, 15u) + bits(h, 12u, 16.0)) * f.x + f.y,
                               (small(q.z, 15u) + bits(h, 16u, 16.0)) * f.x + f.y, (small(q.z >> 4u, 15u) + bits(h, 20u, 16.0)) * f.x + f.y,
                               (small(q.w, 15u) + bits(h, 24u, 16.0)) * f.x + f.y, (small(q.w >> 4u, 15u) + bits(h, 28u, 16.0)) * f.x + f.y);
}
