// Four products of signed bytes and their sum in one call.
//!wgsl-only
@group(0) @binding(0) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(1)
fn probe() {
    result[2] = bitcast<u32>(dot4I8Packed(result[0], result[1]));
}
