// Matrix products for a few rows of x that are texts of their own, with subgroups: weights are read once for all of
// them. TEAM threads share a row4, each with chunks of its own, and have a sum for each row of x; the weights of the
// next step are read a step before. x lies in workgroup memory, of every row a segment at a time, already multiplied by
// its norm's weight; the norm itself is one factor for each row, applied at the end.
//
// A row's sums are made in the same order whoever the other rows are; TEAM, SEGMENT_CHUNKS, THREADS, TOGETHER and
// the size of subgroups determine it.
override THREADS = 256u;
override TEAM = 32u;
override ROWS = 2u; // of x
override LENGTH = 896u; // elements of a row
override CHUNK_VEC4S = 2u; // a quarter of CHUNK
override SEGMENT_CHUNKS = 112u; // chunks of a segment: all, or those of some steps, or a part of one step's
override NORMS = 0u; // 1: x is normed
override TOGETHER = 2u; // rows of x that a thread reads together: slots_share_x.wgsl
// 1: a team is a subgroup, and x one segment: sums need no workgroup memory, and teams wait for each other only for x
override ALONE_AT_ONCE = 0u;
// Workgroups that have a row4, each with a share of k, so that each reads a share of x only: what they make is added up
// by matmul_slots_combine.wgsl.
override SHARES = 1u;
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
const SHARE = CHUNKS / SHARES; // chunks
const SEGMENTS = (SHARE + SEGMENT_CHUNKS - 1u) / SEGMENT_CHUNKS;
const STEPS = (SEGMENT_CHUNKS + TEAM - 1u) / TEAM; // of a segment
const STRIDE = SEGMENT_CHUNKS | 1u;
fn steps_of(segment: u32) -> u32 {
    if (SEGMENTS == 1u) { return STEPS; }
    return min(STEPS, (SHARE - segment * SEGMENT_CHUNKS + TEAM - 1u) / TEAM);
}
var<private> share: u32; // of this workgroup
fn first_of_share() -> u32 { return share * SHARE * CHUNK; }
// Workgroups that have different row4s.
fn row_groups(args: u32) -> u32 { return arg(args, MATMUL_ROW_GROUPS) / SHARES; }
var<workgroup> sums_of: array<f32, ROWS * 4u * SUBGROUPS>; // by team, row of x, row of the row4, subgroup

struct row_sums {
//!for b ROWS
    of_#b: vec4<f32>,
//!end
}
fn has_to_wait(own: bool) -> bool { return own; }
//!include "slots_x_XTYPE.wgsl"
//!include "slots_share_x.wgsl"

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
        (*b).held = fetch_row4((*b).rows, CHUNKS, share * SHARE + (*b).segment * SEGMENT_CHUNKS + (*b).step * TEAM +
            local % TEAM);
        (*b).step += 1u;
        if ((*b).step == steps_of((*b).segment)) {
            (*b).step = 0u;
            (*b).segment += 1u;
        }
        if ((*b).segment == SEGMENTS) {
            (*b).segment = 0u;
            (*b).row4 += row_groups(args) * TEAMS;
            rows_ahead(b, args);
        }
    }
}

fn prefetch(args: u32, v: u32, local: u32) -> prefetched {
    var b: prefetched;
    share = v % SHARES;
    b.row4 = v / SHARES + local / TEAM * row_groups(args);
    rows_ahead(&b, args);
    fetch_ahead(&b, args, local);
    return b;
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

fn put_sums(args: u32, row: u32, row4: u32, sums: vec4<f32>) {
    let at = arg(args, MATMUL_SUMS) + ((share * ROWS + row) * arg(args, MATMUL_ROW4S) + row4) * 4u;
    store(at, sums.x);
    store(at + 1u, sums.y);
    store(at + 2u, sums.z);
    store(at + 3u, sums.w);
}

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var b = fetched;
    let lane = local % TEAM;
    let team = local / TEAM;
    share = v % SHARES;
    if (SEGMENTS == 1u) { share_all_x(args, local); }
    var own: squares;
    var ahead: x_bits;
    for (var start = v / SHARES; start < arg(args, MATMUL_ROW4S); start += row_groups(args) * TEAMS) {
        let is_first = start < row_groups(args);
        let row4 = start + team * row_groups(args);
        let busy = row4 < arg(args, MATMUL_ROW4S);
        let p = part_of(args, min(row4, arg(args, MATMUL_ROW4S) - 1u));
        let q = row4_of(args, p.part, row4 - p.begin, CHUNKS);
        // Each of the first threads of a team finishes a row of x.
        let finishes = busy && lane < ROWS;
        var r: epilogue_operands;
        if (SHARES == 1u && finishes) { r = fetch_operands(args, p.part, q.rows, lane); }
        var sums = row_sums(); // zeros, said so: a driver has kept those of the row4 before
        if (SEGMENTS > 1u) { ahead = read_ahead(args, 0u, local); }
        for (var segment = 0u; segment < SEGMENTS; segment++) {
            if (SEGMENTS > 1u) {
                workgroupBarrier();
                if (is_first && segment == 0u) { make_table(local); }
                share_x(args, segment, ahead, &own, local);
                workgroupBarrier();
                if (segment + 1u < SEGMENTS) { ahead = read_ahead(args, segment + 1u, local); }
            }
            for (var step = 0u; step < looped(args, steps_of(segment)); step++) {
                let here = step * TEAM + lane;
                let bits = b.held;
                fetch_ahead(&b, args, local);
                if (busy && here < SEGMENT_CHUNKS && segment * SEGMENT_CHUNKS + here < SHARE) {
                    add_rows(&sums, bits, here);
                }
            }
        }
        var total: vec4<f32>;
        if (ALONE_AT_ONCE == 1u) {
            total = sums_of_own_row(sums, local);
        } else {
            if (NORMS == 1u && SEGMENTS > 1u && is_first) { note_squares(own, local); }
            total = sums_by_team(sums, team, lane, local);
        }
        if (SHARES > 1u && finishes) {
            put_sums(args, lane, row4, total);
        } else if (finishes) {
            var scale = 1.0;
            if (NORMS == 1u) { scale = scale_of(args, lane); }
            finish(args, p.part, q.first, q.rows, scale * total, lane, r);
        }
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
