// Matrix products for a few rows of x that are texts of their own, with subgroups: weights are read once for all of
// them. TEAM threads share a row4, each with chunks of its own, and have a sum for each row of x; the weights of the
// next step are read a step before. x lies in workgroup memory, of every row a segment at a time, already multiplied by
// its norm's weight; the norm itself is one factor for each row, applied at the end.
//
// A row's sums are made in the same order whoever the other rows are; TEAM, SEGMENT_CHUNKS, THREADS, BY_SECTORS and the
// size of subgroups determine it.
override THREADS = 256u;
override TEAM = 32u;
override ROWS = 2u; // of x
override LENGTH = 896u; // elements of a row
override CHUNK_VEC4S = 2u; // a quarter of CHUNK
override SEGMENT_CHUNKS = 112u; // chunks of a segment: all, or those of some steps, or a part of one step's
override NORMS = 0u; // 1: x is normed
// How x is read. 0: a thread has four elements side by side, so that each of its loads is a quarter of what a
// subgroup's loads touch; atomic loads, which pass the nearest cache by, then fetch everything four times. 1: eight
// threads have 32 elements, and each of their loads takes eight of those that lie side by side, a sector of memory; and
// who waits for x polls a vector of it only.
override BY_SECTORS = 0u;
override READS_AHEAD = 0u; // 1: the next segment of x is on its way while this one is used
// 1: a team is a subgroup, and x one segment: sums need no workgroup memory, and teams wait for each other only for x
override ALONE_AT_ONCE = 0u;
//!wgsl-only
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "angle.wgsl"
//!include "matmul.wgsl"
//!include "row4.wgsl"
//!include "shared_x.wgsl"
//!include "subgroup_sum.wgsl"

const TEAMS = THREADS / TEAM;
const WIDTH = TEAM / SUBGROUP; // subgroups of a team
const SUBGROUPS = THREADS / SUBGROUP;
const CHUNKS = (LENGTH + CHUNK - 1u) / CHUNK;
const SEGMENTS = (CHUNKS + SEGMENT_CHUNKS - 1u) / SEGMENT_CHUNKS;
const STEPS = (SEGMENT_CHUNKS + TEAM - 1u) / TEAM; // of a segment
const STRIDE = SEGMENT_CHUNKS | 1u;
fn steps_of(segment: u32) -> u32 {
    if (SEGMENTS == 1u) { return STEPS; }
    return min(STEPS, (CHUNKS - segment * SEGMENT_CHUNKS + TEAM - 1u) / TEAM);
}
var<workgroup> sums_of: array<f32, ROWS * 4u * SUBGROUPS>; // by team, row of x, row of the row4, subgroup
var<workgroup> squares_of: array<f32, ROWS * SUBGROUPS>;

struct row_sums {
//!for b ROWS
    of_#b: vec4<f32>,
//!end
}
//!include "slots_x_XTYPE.wgsl"

// ---- weights ----------------------------------------------------------------

// What was read and is not yet used, and where reading goes on: a team has every (workgroups * TEAMS)-th row4.
struct prefetched {
    held: row4_bits,
    row4: u32,
    segment: u32,
    step: u32,
    rows: row4_rows,
}

fn rows_ahead(b: ptr<function, prefetched>, args: u32) {
    if ((*b).row4 < arg(args, MATMUL_ROW4S)) {
        let p = part_of(args, (*b).row4);
        (*b).rows = row4_of(args, p.part, (*b).row4 - p.begin, CHUNKS);
    }
}

fn fetch_ahead(b: ptr<function, prefetched>, args: u32, local: u32) {
    if ((*b).row4 < arg(args, MATMUL_ROW4S)) {
        (*b).held = fetch_row4((*b).rows, CHUNKS, (*b).segment * SEGMENT_CHUNKS + (*b).step * TEAM + local % TEAM);
        (*b).step += 1u;
        if ((*b).step == steps_of((*b).segment)) {
            (*b).step = 0u;
            (*b).segment += 1u;
        }
        if ((*b).segment == SEGMENTS) {
            (*b).segment = 0u;
            (*b).row4 += arg(args, MATMUL_ROW_GROUPS) * TEAMS;
            rows_ahead(b, args);
        }
    }
}

fn prefetch(args: u32, v: u32, local: u32) -> prefetched {
    var b: prefetched;
    b.row4 = v + local / TEAM * arg(args, MATMUL_ROW_GROUPS);
    rows_ahead(&b, args);
    fetch_ahead(&b, args, local);
    return b;
}

// ---- x ----------------------------------------------------------------------

struct squares {
//!for b ROWS
    of_#b: f32,
//!end
}

// Four elements of every row, as they lie in memory: those are in flight together.
struct x_bits {
//!for b ROWS
    of_#b: vec4<u32>,
//!end
}

// Which elements of a segment, and of a row, a thread has as its i-th four; those that there are not are the first.
fn own_elements(i: u32) -> vec4<u32> {
    if (BY_SECTORS == 1u) { return vec4<u32>(0u, 8u, 16u, 24u) + i / 8u * 32u + i % 8u; }
    return vec4<u32>(0u, 1u, 2u, 3u) + i * 4u;
}
fn are_there(segment: u32, own: vec4<u32>) -> vec4<bool> {
    let all = vec4<u32>(min(SEGMENT_CHUNKS * CHUNK, LENGTH - segment * SEGMENT_CHUNKS * CHUNK));
    return own < all;
}
fn elements_of_row(segment: u32, own: vec4<u32>) -> vec4<u32> {
    return select(vec4<u32>(), own + segment * SEGMENT_CHUNKS * CHUNK, are_there(segment, own));
}

fn read_x(args: u32, segment: u32, i: u32) -> x_bits {
    let place = elements_of_row(segment, own_elements(i)) + arg(args, MATMUL_X);
    var x: x_bits;
//!for b ROWS
    x.of_#b = bits_of_vec4(place + #bu * LENGTH);
//!end
    return x;
}

fn any_stale(bits: vec4<u32>) -> u32 {
    return is_stale(bits.x) | is_stale(bits.y) | is_stale(bits.z) | is_stale(bits.w);
}

// Waits until four elements are there.
fn await_vec4(place: vec4<u32>) {
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        if (any_stale(bits_of_vec4(place)) == 0u || !keep_spinning(spins)) { break; }
    }
}

// Puts what was read into workgroup memory.
fn place_x(args: u32, segment: u32, i: u32, read: x_bits, own: ptr<function, squares>, local: u32) {
    let elements = own_elements(i);
    let there = are_there(segment, elements);
    let of_row = elements_of_row(segment, elements);
    var x = read;
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        var missing = 0u;
        var late = 0u;
//!for b ROWS
        let stale_#b = any_stale(x.of_#b);
        missing |= stale_#b;
        late = select(late, #bu * LENGTH, stale_#b != 0u);
//!end
        if (missing == 0u || arg(args, MATMUL_X_COMPUTED) == 0u || !keep_spinning(spins)) { break; }
        if (BY_SECTORS == 1u) { await_vec4(of_row + arg(args, MATMUL_X) + late); }
        x = read_x(args, segment, i);
    }
    var weight = vec4<f32>(1.0);
    if (NORMS == 1u) {
        let norm = of_row + arg(args, MATMUL_NORM_WEIGHT);
        weight = rounded(vec4<f32>(load(norm.x), load(norm.y), load(norm.z), load(norm.w)) +
            arg_float(args, MATMUL_NORM_OFFSET));
    }
//!for b ROWS
    let value_#b = select(vec4<f32>(), vec4<f32>(float_of(x.of_#b.x), float_of(x.of_#b.y), float_of(x.of_#b.z),
        float_of(x.of_#b.w)), there);
    if (NORMS == 1u) {
        (*own).of_#b = fma(value_#b.w, value_#b.w, fma(value_#b.z, value_#b.z, fma(value_#b.y, value_#b.y,
            fma(value_#b.x, value_#b.x, (*own).of_#b))));
    }
    put_row(#bu, i, elements, value_#b * weight, local);
//!end
}

// Puts a segment of all rows of x into workgroup memory; the beginning of it was read ahead.
fn share_x(args: u32, segment: u32, read: x_bits, own: ptr<function, squares>, local: u32) {
    if (READS_AHEAD == 1u) {
        place_x(args, segment, local, read, own, local);
        return;
    }
    for (var start = 0u; start < SEGMENT_CHUNKS * CHUNK_VEC4S; start += THREADS) {
        place_x(args, segment, start + local, read_x(args, segment, start + local), own, local);
    }
}

fn note_squares(own: squares, local: u32) {
//!for b ROWS
    let sum_#b = sum_over_subgroup(rounded(vec4<f32>(own.of_#b)).x, local);
    if (local % SUBGROUP == 0u) { squares_of[#bu * SUBGROUPS + local / SUBGROUP] = sum_#b; }
//!end
}

fn scale_of(args: u32, row: u32) -> f32 {
    var sum = squares_of[row * SUBGROUPS];
    for (var i = 1u; i < SUBGROUPS; i++) { sum += squares_of[row * SUBGROUPS + i]; }
    return inverseSqrt(fma(sum, 1.0 / f32(LENGTH), arg_float(args, MATMUL_NORM_EPSILON)));
}

// ---- products ---------------------------------------------------------------

// The four sums over a subgroup, each known to a quarter of its threads: each exchange halves what is left to add.
fn folded(sums: vec4<f32>, local: u32) -> f32 {
    let upper = local / (SUBGROUP / 2u) % 2u == 1u;
    let others = select(sums.zw, sums.xy, upper);
    let two = select(sums.xy, sums.zw, upper) +
        vec2<f32>(shuffle_xor(others.x, SUBGROUP / 2u, local), shuffle_xor(others.y, SUBGROUP / 2u, local));
    let second = local / (SUBGROUP / 4u) % 2u == 1u;
    let one = select(two.x, two.y, second) + shuffle_xor(select(two.y, two.x, second), SUBGROUP / 4u, local);
    return sum_over(one, SUBGROUP / 4u, local);
}

fn sum_of_row(team: u32, row: u32, r: u32) -> f32 {
    let at = ((team * ROWS + row) * 4u + r) * WIDTH;
    var sum = sums_of[at];
    for (var i = 1u; i < WIDTH; i++) { sum += sums_of[at + i]; }
    return sum;
}

// Sum r of a row is known to a quarter of a subgroup, which is threads QUARTER of it. For rows s * QUARTER and
// following, one of which each of these threads has in `own`: all four sums, for those that are quarter s.
const QUARTER = SUBGROUP / 4u;
fn four_sums(own: f32, s: u32, local: u32) -> vec4<f32> {
    return vec4<f32>(shuffle_xor(own, s * QUARTER, local), shuffle_xor(own, (s ^ 1u) * QUARTER, local),
        shuffle_xor(own, (s ^ 2u) * QUARTER, local), shuffle_xor(own, (s ^ 3u) * QUARTER, local));
}

// The sums of row `local % SUBGROUP`, within a subgroup, which has as many threads as there are rows.
fn sums_of_own_row(sums: row_sums, local: u32) -> vec4<f32> {
    let lane = local % SUBGROUP;
    var own = vec4<f32>();
//!for b ROWS
    let sum_#b = folded(sums.of_#b, local);
    own[#bu / QUARTER % 4u] = select(own[#bu / QUARTER % 4u], sum_#b, lane % QUARTER == #bu % QUARTER);
//!end
    var total = four_sums(own.x, 0u, local);
    if (ROWS > QUARTER) { total = select(total, four_sums(own.y, 1u, local), lane / QUARTER == 1u); }
    if (ROWS > 2u * QUARTER) { total = select(total, four_sums(own.z, 2u, local), lane / QUARTER == 2u); }
    if (ROWS > 3u * QUARTER) { total = select(total, four_sums(own.w, 3u, local), lane / QUARTER == 3u); }
    return total;
}

// The same by workgroup memory.
fn sums_by_team(sums: row_sums, team: u32, lane: u32, local: u32) -> vec4<f32> {
    workgroupBarrier(); // and sums of the row4s before are read
//!for b ROWS
    let sum_#b = folded(sums.of_#b, local);
    if (local % QUARTER == 0u) {
        sums_of[((team * ROWS + #bu) * 4u + local % SUBGROUP / QUARTER) * WIDTH + lane / SUBGROUP] = sum_#b;
    }
//!end
    workgroupBarrier();
    let row = min(lane, ROWS - 1u);
    return vec4<f32>(sum_of_row(team, row, 0u), sum_of_row(team, row, 1u), sum_of_row(team, row, 2u),
        sum_of_row(team, row, 3u));
}

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var b = fetched;
    let lane = local % TEAM;
    let team = local / TEAM;
    var own: squares;
    var ahead: x_bits;
    if (READS_AHEAD == 1u) { ahead = read_x(args, 0u, local); }
    for (var start = v; start < arg(args, MATMUL_ROW4S); start += arg(args, MATMUL_ROW_GROUPS) * TEAMS) {
        let is_first = start < arg(args, MATMUL_ROW_GROUPS);
        let row4 = start + team * arg(args, MATMUL_ROW_GROUPS);
        let busy = row4 < arg(args, MATMUL_ROW4S);
        let p = part_of(args, min(row4, arg(args, MATMUL_ROW4S) - 1u));
        let q = row4_of(args, p.part, row4 - p.begin, CHUNKS);
        // Each of the first threads of a team finishes a row of x.
        let finishes = busy && lane < ROWS;
        var r: epilogue_operands;
        if (finishes) { r = fetch_operands(args, p.part, q.rows, lane); }
        var sums = row_sums(); // zeros, said so: a driver has kept those of the row4 before
        for (var segment = 0u; segment < SEGMENTS; segment++) {
            if (is_first || SEGMENTS > 1u) {
                workgroupBarrier();
                if (is_first && segment == 0u) { make_table(local); }
                share_x(args, segment, ahead, &own, local);
                if (ALONE_AT_ONCE == 1u && NORMS == 1u) { note_squares(own, local); }
                workgroupBarrier();
                if (READS_AHEAD == 1u) { ahead = read_x(args, (segment + 1u) % SEGMENTS, local); }
            }
            for (var step = 0u; step < steps_of(segment); step++) {
                let here = step * TEAM + lane;
                let bits = b.held;
                fetch_ahead(&b, args, local);
                if (busy && here < SEGMENT_CHUNKS && segment * SEGMENT_CHUNKS + here < CHUNKS) {
                    add_rows(&sums, bits, here);
                }
            }
        }
        var total: vec4<f32>;
        if (ALONE_AT_ONCE == 1u) {
            total = sums_of_own_row(sums, local);
        } else {
            if (NORMS == 1u && is_first) { note_squares(own, local); }
            total = sums_by_team(sums, team, lane, local);
        }
        if (finishes) {
            var scale = 1.0;
            if (NORMS == 1u) { scale = scale_of(args, lane); }
            finish(args, p.part, q.first, q.rows, scale * total, lane, r);
        }
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
