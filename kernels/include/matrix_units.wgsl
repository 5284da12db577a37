// Fragments of the matrices in `tile`, in the registers of a subgroup, multiplied by the GPU's matrix units.
const IN_TILE = 0u; // 1: fragments stay in the tile
alias number = f16;
alias fragment_x = subgroup_matrix_left<f16, FRAGMENT_DEPTH, FRAGMENT_ROWS>;
alias fragment_w = subgroup_matrix_right<f16, FRAGMENT_COLUMNS, FRAGMENT_DEPTH>;
alias fragment_sum = subgroup_matrix_result<f32, FRAGMENT_COLUMNS, FRAGMENT_ROWS>;

fn numbers_of(halves: u32) -> vec2<f16> { return bitcast<vec2<f16>>(halves); }
fn fragment_of_x(at: u32) -> fragment_x { return subgroupMatrixLoad<fragment_x, row_major>(&tile, at, LINE); }
// Columns are lines of the tile; and the other way round.
fn fragment_of_w(at: u32) -> fragment_w { return subgroupMatrixLoad<fragment_w, col_major>(&tile, at, LINE); }
fn fragment_of_lines(at: u32) -> fragment_w { return subgroupMatrixLoad<fragment_w, row_major>(&tile, at, LINE); }
fn multiply(x: fragment_x, w: fragment_w, sum: fragment_sum, lane: u32) -> fragment_sum {
    return subgroupMatrixMultiplyAccumulate(x, w, sum);
}
fn put_sum(at: u32, sum: fragment_sum, lane: u32) { subgroupMatrixStore<row_major>(&sums, at, sum, SUM_LINE); }
