// Subgroups: the size, the sum of everyone's lane number, and whether they are other threads than those that follow
// each other, in their order: nothing promises it, and kernels rely on it.
//!wgsl-only
enable subgroups;
@group(0) @binding(0) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(128)
fn probe(@builtin(subgroup_size) size: u32, @builtin(subgroup_invocation_id) lane: u32,
         @builtin(local_invocation_index) local: u32) {
    let sum = subgroupAdd(lane);
    if (lane != local % size) { result[2] = 1u; }
    if (local == 0u) {
        result[0] = size;
        result[1] = sum;
    }
}
