const CHUNK = 4u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 1> { return array<vec4<f32>, 1>(bitcast<vec4<f32>>(weights[m.at / 4u + c])); }
