// Subgroups: the size, and the sum of everyone's lane number.
//!wgsl-only
enable subgroups;
@group(0) @binding(0) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(128)
fn probe(@builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32,
         @builtin(local_invocation_index) local: u32) {
    let sum = subgroupAdd(lane);
    if (local == 0u) {
        result[0] = size;
        result[1] = sum;
    }
}
