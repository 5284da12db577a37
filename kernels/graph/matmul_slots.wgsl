// Matrix products for a few rows of x that are texts of their own, with subgroups: weights are read once for all of
// them. TEAM threads share a row4, each with chunks of its own, and have a sum for each row of x; the weights of the
// next step are read a step before. x lies in workgroup memory, of every row a segment at a time, already multiplied by
// its norm's weight; the norm itself is one factor for each row, applied at the end.
//
// A row's sums are made in the same order whoever the other rows are; TEAM, SEGMENT_CHUNKS, THREADS and the size of
// subgroups determine it.
override THREADS = 256u;
override TEAM = 32u;
override ROWS = 2u; // of x
override LENGTH = 896u; // elements of a row
override CHUNK_VEC4S = 2u; // a quarter of CHUNK
override SEGMENT_CHUNKS = 112u; // chunks of a segment: all, or those of some steps, or a part of one step's
override NORMS = 0u; // 1: x is normed
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
        if ((*b).step == STEPS) {
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

// Puts a segment of all rows of x into workgroup memory. A thread has the same elements of every row, and those are in
// flight together.
fn share_x(args: u32, segment: u32, own: ptr<function, squares>, local: u32) {
    let vec4s = SEGMENT_CHUNKS * CHUNK_VEC4S;
    let first = segment * vec4s * 4u;
    for (var start = 0u; start < vec4s; start += THREADS) {
        let i = start + local;
        let at = first + i * 4u;
        let there = i < vec4s && at < LENGTH;
        let place = vec4<u32>(0u, 1u, 2u, 3u) + arg(args, MATMUL_X) + select(0u, at, there);
//!for b ROWS
        var bits_#b: vec4<u32>;
//!end
        for (var spins = 0u; spins < MAX_SPINS; spins++) {
            var missing = 0u;
//!for b ROWS
            bits_#b = bits_of_vec4(place + #bu * LENGTH);
//!end
//!for b ROWS
            missing |= is_stale(bits_#b.x) | is_stale(bits_#b.y) | is_stale(bits_#b.z) | is_stale(bits_#b.w);
//!end
            if (missing == 0u || arg(args, MATMUL_X_COMPUTED) == 0u || !keep_spinning(spins)) { break; }
        }
        var weight = vec4<f32>(1.0);
        if (NORMS == 1u) {
            let norm = vec4<u32>(0u, 1u, 2u, 3u) + arg(args, MATMUL_NORM_WEIGHT) + select(0u, at, there);
            weight = rounded(vec4<f32>(load(norm.x), load(norm.y), load(norm.z), load(norm.w)) +
                arg_float(args, MATMUL_NORM_OFFSET));
        }
//!for b ROWS
        let value_#b = select(vec4<f32>(), vec4<f32>(float_of(bits_#b.x), float_of(bits_#b.y), float_of(bits_#b.z),
            float_of(bits_#b.w)), there);
        if (NORMS == 1u) {
            (*own).of_#b = fma(value_#b.w, value_#b.w, fma(value_#b.z, value_#b.z, fma(value_#b.y, value_#b.y,
                fma(value_#b.x, value_#b.x, (*own).of_#b))));
        }
        put_row(#bu, i, value_#b * weight, i < vec4s, local);
//!end
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

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var b = fetched;
    let lane = local % TEAM;
    let team = local / TEAM;
    var own: squares;
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
                share_x(args, segment, &own, local);
                workgroupBarrier();
            }
            for (var step = 0u; step < STEPS; step++) {
                let here = step * TEAM + lane;
                let bits = b.held;
                fetch_ahead(&b, args, local);
                if (busy && here < SEGMENT_CHUNKS && segment * SEGMENT_CHUNKS + here < CHUNKS) {
                    add_rows(&sums, bits, here);
                }
            }
        }
        if (NORMS == 1u && is_first) { note_squares(own, local); }
        workgroupBarrier(); // and sums of the row4s before are read
//!for b ROWS
        let sum_#b = folded(sums.of_#b, local);
        if (local % (SUBGROUP / 4u) == 0u) {
            sums_of[((team * ROWS + #bu) * 4u + local % SUBGROUP / (SUBGROUP / 4u)) * WIDTH + lane / SUBGROUP] = sum_#b;
        }
//!end
        workgroupBarrier();
        if (finishes) {
            let total = vec4<f32>(sum_of_row(team, lane, 0u), sum_of_row(team, lane, 1u), sum_of_row(team, lane, 2u),
                sum_of_row(team, lane, 3u));
            var scale = 1.0;
            if (NORMS == 1u) { scale = scale_of(args, lane); }
            finish(args, p.part, q.first, q.rows, scale * total, lane, r);
        }
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
