const CHUNK = 8u;
struct bits_of_chunk { q: vec4<u32> }
fn fetch(m: matrix, c: u32) -> bits_of_chunk { return bits_of_chunk(weights[m.at / 4u + c]); }
fn unpack(b: bits_of_chunk) -> array<vec4<f32>, 2> {
    let even = bitcast<vec4<f32>>(b.q << vec4<u32>(16u));
    let odd = bitcast<vec4<f32>>(b.q & vec4<u32>(0xffff0000u));
    return array<vec4<f32>, 2>(vec4<f32>(even.x, odd.x, even.y, odd.y), vec4<f32>(even.z, odd.z, even.w, odd.w));
}
