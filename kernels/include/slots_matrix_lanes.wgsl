// The same as slots_matrix_units.wgsl without matrix units, for tests: a lane computes some elements of a fragment.
var<workgroup> tile: array<f32, TILE_NUMBERS>;
alias fragment_w = u32; // the half at which it begins
alias fragment_x = u32; // the number
const LANE_SUMS = AREA / LANES;
alias fragment_sum = array<f32, LANE_SUMS>;

// Hides the bound of a loop, so that it is not unrolled: no buffer has so many vectors.
fn hidden(value: u32) -> u32 { return value + (arrayLength(&weights) >> 31u); }
fn has_to_wait(own: bool) -> bool { return own; }
fn half_of(value: f32) -> f32 { return unpack2x16float(pack2x16float(vec2<f32>(value, 0.0))).x; }
fn fragment_of_weights(half: u32) -> fragment_w { return half; }
fn fragment_of_x(at: u32) -> fragment_x { return at; }
// Element i of a lane is row i of its part of a column.
fn multiply(w: fragment_w, x: fragment_x, sum: fragment_sum, lane: u32) -> fragment_sum {
    var y = sum;
    for (var i = 0u; i < hidden(LANE_SUMS); i++) {
        let element = lane * LANE_SUMS + i;
        for (var k = 0u; k < hidden(DEPTH); k++) {
            y[i] += half_at(0u, w + element % SUM_LINE * LENGTH + k) * tile[x + element / SUM_LINE * LINE + k];
        }
    }
    return y;
}
fn put_sum(at: u32, sum: fragment_sum, lane: u32) {
    for (var i = 0u; i < hidden(LANE_SUMS); i++) { sums[at + lane * LANE_SUMS + i] = sum[i]; }
}
