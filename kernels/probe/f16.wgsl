// 16-bit floats: 2048 + 1 is 2048 in them, 2049 otherwise.
//!wgsl-only
enable f16;
@group(0) @binding(0) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(1)
fn probe() {
    let big = f16(f32(result[0]));
    result[1] = u32(f32(big + f16(f32(result[2]))));
}
