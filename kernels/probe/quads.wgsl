// Exchanges within four threads: their numbers backwards.
//!wgsl-only
enable subgroups;
@group(0) @binding(0) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(4)
fn probe(@builtin(local_invocation_index) local: u32) {
    result[local] = quadSwapY(quadSwapX(local));
}
