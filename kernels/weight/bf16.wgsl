const CHUNK = 8u;
fn unpack(m: matrix, c: u32) -> array<vec4<f32>, 2> {
    let w = weights[m.at / 4u + c];
    let even = bitcast<vec4<f32>>(w << vec4<u32>(16u));
    let odd = bitcast<vec4<f32>>(w & vec4<u32>(0xffff0000u));
    return array<vec4<f32>, 2>(vec4<f32>(even.x, odd.x, even.y, odd.y), vec4<f32>(even.z, odd.z, even.w, odd.w));
}
