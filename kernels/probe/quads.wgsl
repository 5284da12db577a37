// Exchanges within four threads: the numbers of the one beside and of the one two away.
//!wgsl-only
enable subgroups;
@group(0) @binding(0) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(128)
fn probe(@builtin(local_invocation_index) local: u32) {
    result[local] = quadSwapX(local) | (quadSwapY(local) << 16u);
}
