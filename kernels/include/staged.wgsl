// What the threads of a workgroup have for each other, x above all, as bits: the kernels of one dispatch share this memory.
var<workgroup> staged: array<vec4<u32>, STAGED / 4u>;
fn staged_four(i: u32) -> vec4<f32> { return bitcast<vec4<f32>>(staged[i]); }
fn stage_four(i: u32, value: vec4<f32>) { staged[i] = bitcast<vec4<u32>>(value); }
