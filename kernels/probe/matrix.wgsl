// Matrix units: a product of f16 with sums in f32, in the shape that takes the place of SHAPE.
//!wgsl-only
enable f16;
enable subgroups;
enable chromium_experimental_subgroup_matrix;
@group(0) @binding(0) var<storage, read_write> result: array<f32>;

const SHAPE = 0u;
var<workgroup> x: array<f16, ROWS * DEPTH>;
var<workgroup> w: array<f16, COLUMNS * DEPTH>;

@compute @workgroup_size(128)
fn probe(@builtin(local_invocation_index) local: u32, @builtin(subgroup_id) subgroup: u32) {
    for (var i = local; i < ROWS * DEPTH; i += 128u) { x[i] = f16((i / DEPTH + i % DEPTH) % 7u); }
    for (var i = local; i < COLUMNS * DEPTH; i += 128u) { w[i] = f16((i / DEPTH + 3u * (i % DEPTH)) % 5u); }
    workgroupBarrier();
    if (subgroup == 0u) {
        let left = subgroupMatrixLoad<subgroup_matrix_left<f16, DEPTH, ROWS>, row_major>(&x, 0u, DEPTH);
        let right = subgroupMatrixLoad<subgroup_matrix_right<f16, COLUMNS, DEPTH>, col_major>(&w, 0u, DEPTH);
        var sum = subgroup_matrix_result<f32, COLUMNS, ROWS>(0.0);
        sum = subgroupMatrixMultiplyAccumulate(left, right, sum);
        subgroupMatrixStore<row_major>(&result, 0u, sum, COLUMNS);
    }
}
