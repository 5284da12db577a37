// Fragments of matmul_slots_matrix.wgsl, in the registers of a subgroup, multiplied by the GPU's matrix units.
@group(0) @binding(4) var<storage, read> weight_halves: array<f16>; // the same buffer as `weights`
var<workgroup> tile: array<f16, TILE_NUMBERS>;
alias fragment_w = subgroup_matrix_left<f16, 16, 16>;
alias fragment_x = subgroup_matrix_right<f16, COLUMNS, 16>;
alias fragment_sum = subgroup_matrix_result<f32, COLUMNS, 16>;

// Threads of a subgroup leave loops together: fragments are of all of them.
fn has_to_wait(own: bool) -> bool { return subgroupAny(own); }
fn half_of(value: f32) -> f16 { return f16(value); }
fn fragment_of_weights(half: u32) -> fragment_w {
    return subgroupMatrixLoad<fragment_w, row_major>(&weight_halves, half, LENGTH);
}
fn fragment_of_x(at: u32) -> fragment_x { return subgroupMatrixLoad<fragment_x, col_major>(&tile, at, LINE); }
fn multiply(w: fragment_w, x: fragment_x, sum: fragment_sum, lane: u32) -> fragment_sum {
    return subgroupMatrixMultiplyAccumulate(w, x, sum);
}
fn put_sum(at: u32, sum: fragment_sum, lane: u32) { subgroupMatrixStore<col_major>(&sums, at, sum, SUM_LINE); }
