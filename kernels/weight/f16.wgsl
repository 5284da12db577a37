const CHUNK = 8u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 2> {
    let w = weights[m.at / 4u + c];
    return array<vec4<f32>, 2>(vec4<f32>(unpack2x16float(w.x), unpack2x16float(w.y)), vec4<f32>(unpack2x16float(w.z), unpack2x16float(w.w)));
}
