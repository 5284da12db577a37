// The same as matrix_units.wgsl without matrix units, for tests: a lane computes some elements of a fragment itself.
const LANES = 32u;
const LANE_SUMS = FRAGMENT_ROWS * FRAGMENT_COLUMNS / LANES;
const IN_TILE = 1u; // fragments stay in the tile
alias number = f32;
alias fragment_x = u32; // where it begins
alias fragment_w = vec3<u32>; // the same, and how far apart neighbours are along the depth and across
alias fragment_sum = array<f32, LANE_SUMS>;

// Hides the bound of a loop, so that it is not unrolled: there are never 2^31 workgroups.
fn hidden(value: u32) -> u32 { return value + (arguments[0].x >> 31u); }
fn numbers_of(halves: u32) -> vec2<f32> { return unpack2x16float(halves); }
fn fragment_of_x(at: u32) -> fragment_x { return at; }
fn fragment_of_w(at: u32) -> fragment_w { return vec3<u32>(at, 1u, LINE); }
fn fragment_of_lines(at: u32) -> fragment_w { return vec3<u32>(at, LINE, 1u); }
fn multiply(x: fragment_x, w: fragment_w, sum: fragment_sum, lane: u32) -> fragment_sum {
    var y = sum;
    for (var i = 0u; i < hidden(LANE_SUMS); i++) {
        let element = lane * LANE_SUMS + i;
        for (var k = 0u; k < hidden(FRAGMENT_DEPTH); k++) {
            y[i] += tile[x + element / FRAGMENT_COLUMNS * LINE + k] *
                tile[w.x + k * w.y + element % FRAGMENT_COLUMNS * w.z];
        }
    }
    return y;
}
fn put_sum(at: u32, sum: fragment_sum, lane: u32) {
    for (var i = 0u; i < hidden(LANE_SUMS); i++) {
        let element = lane * LANE_SUMS + i;
        sums[at + element / FRAGMENT_COLUMNS * SUM_LINE + element % FRAGMENT_COLUMNS] = sum[i];
    }
}
