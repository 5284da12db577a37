const CHUNK = 32u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 8> {
    let a = weights[m.at / 4u + c * 2u];
    let b = weights[m.at / 4u + c * 2u + 1u];
    let d = half_at(m.at + m.chunks * 8u, c);
    return array<vec4<f32>, 8>(signed(a.x) * d, signed(a.y) * d, signed(a.z) * d, signed(a.w) * d,
                               signed(b.x) * d, signed(b.y) * d, signed(b.z) * d, signed(b.w) * d);
}
