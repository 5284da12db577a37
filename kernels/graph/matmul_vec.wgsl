// Matrix products for one row of x, or a few: TEAM threads share a row4, each with chunks of its own, so that the
// weights are read once, side by side. Weights do not depend on what was computed before: the first of them are read
// before x is there (`prefetch`), the others a step before they are needed. x lies in workgroup memory, already
// multiplied by its norm's weight; the norm itself is one factor, applied at the end.
//
// A row's sum is made in the same order whatever the number of threads of a workgroup: TEAM and SEGMENT determine it.
override THREADS = 256u;
override TEAM = 32u;
override SEGMENT = 2048u; // elements of x in workgroup memory at a time: those of some steps, or all
override LENGTH = 0u; // elements of a row, if that is known
override NORMS = 1u; // 0: x is never normed
override COMBINES_SPLITS = 1u; // 0: x is never what split attention left
override PREFETCHES = 0u; // 1: weights are read a step before they are needed, by code that is many times as long
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "reduce_REDUCE.wgsl"
//!include "squares_REDUCE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "angle.wgsl"
//!include "matmul.wgsl"
//!include "row4.wgsl"
//!include "shared_x.wgsl"
//!include "attention_splits.wgsl"

const TEAMS = THREADS / TEAM;

fn length_of_row(args: u32) -> u32 {
    if (LENGTH > 0u) { return LENGTH; }
    return arg(args, MATMUL_LENGTH);
}

// ---- x ----------------------------------------------------------------------

fn vec4_at(i: u32) -> vec4<f32> {
    if (COMPACT == 0u) { return vec4<f32>(load(i), load(i + 1u), load(i + 2u), load(i + 3u)); }
    var y = vec4<f32>();
    for (var j = 0u; j < at_run_time(4u); j++) { y[j] = load(i + j); }
    return y;
}

// Elements i to i+3 of a row at `list`; zeros beyond its end.
fn vec4_of_row(args: u32, list: u32, i: u32) -> vec4<f32> {
    if (i + 3u < length_of_row(args)) { return vec4_at(list + i); }
    var y = vec4<f32>();
    if (COMPACT == 1u) {
        for (var j = 0u; i + j < length_of_row(args); j++) { y[j] = load(list + i + j); }
        return y;
    }
    if (i < length_of_row(args)) { y.x = load(list + i); }
    if (i + 1u < length_of_row(args)) { y.y = load(list + i + 1u); }
    if (i + 2u < length_of_row(args)) { y.z = load(list + i + 2u); }
    return y;
}

// Elements i to i+3 of x, combined from the splits of their head, four splits at a time.
fn combined(args: u32, x: u32, i: u32) -> vec4<f32> {
    let size = arg(args, MATMUL_HEAD_SIZE);
    let splits = arg(args, MATMUL_SPLITS);
    let first = i / size * splits;
    let at = x + first * (size + 2u) + i % size;
    var sum = vec4<f32>();
    for (var s = 0u; s < splits; s += 4u) {
        if (COMPACT == 1u) {
            for (var j = s; j < min(s + 4u, splits); j++) {
                sum = fma(vec4<f32>(split_weight[first + j]), vec4_at(at + j * (size + 2u)), sum);
            }
            continue;
        }
        let b = min(s + 1u, splits - 1u);
        let c = min(s + 2u, splits - 1u);
        let d = min(s + 3u, splits - 1u);
        let one = vec4_at(at + s * (size + 2u));
        let two = vec4_at(at + b * (size + 2u));
        let three = vec4_at(at + c * (size + 2u));
        let four = vec4_at(at + d * (size + 2u));
        // fma, so that all kernels round alike
        sum = fma(vec4<f32>(split_weight[first + s]), one, sum);
        sum = fma(vec4<f32>(select(0.0, split_weight[first + b], s + 1u < splits)), two, sum);
        sum = fma(vec4<f32>(select(0.0, split_weight[first + c], s + 2u < splits)), three, sum);
        sum = fma(vec4<f32>(select(0.0, split_weight[first + d], s + 3u < splits)), four, sum);
    }
    return sum;
}

// Puts the elements of x from `segment` on into workgroup memory, as vectors. Those of a chunk lie SEGMENT / CHUNK
// apart, so that threads with neighbouring chunks read neighbouring vectors.
fn share_x(args: u32, x: u32, segment: u32, local: u32) {
    let k = length_of_row(args);
    let count = min(at_run_time(SEGMENT), (k + 31u) / 32u * 32u - segment) / 4u;
    let combines = COMBINES_SPLITS == 1u && arg(args, MATMUL_X_FORM) == X_SPLITS;
    let norms = NORMS == 1u && arg(args, MATMUL_X_FORM) == X_NORMED;
    if (combines) {
        weigh_splits(x, k / max(arg(args, MATMUL_HEAD_SIZE), 1u) * arg(args, MATMUL_SPLITS), arg(args, MATMUL_SPLITS),
            arg(args, MATMUL_HEAD_SIZE), local);
    }
    for (var start = 0u; start < count; start += THREADS) {
        let i = start + local;
        let at = segment + i * 4u;
        var value = vec4<f32>();
        var weight = vec4<f32>(1.0);
        if (i < count && at < k) {
            if (combines) {
                value = combined(args, x, at);
            } else if (COMPACT == 0u && at + 3u < k) {
                let place = vec4<u32>(0u, 1u, 2u, 3u) + x + at;
                value = floats_of(bits_of_vec4(place), place, arg(args, MATMUL_X_COMPUTED) == 1u);
            } else {
                value = vec4_of_row(args, x, at);
            }
            if (norms) {
                weight = rounded(vec4_of_row(args, arg(args, MATMUL_NORM_WEIGHT), at) +
                    arg_float(args, MATMUL_NORM_OFFSET));
            }
        }
        if (norms) { note_squares(i, value); }
        if (i < count) { store_shared_vec4(i % (CHUNK / 4u) * (SEGMENT / CHUNK) + i / (CHUNK / 4u), value * weight); }
    }
}

// ---- weights ----------------------------------------------------------------

// What was read and is not yet used, and where reading goes on: a team has every (workgroups * TEAMS)-th row4, each in
// some steps.
struct prefetched {
    held: row4_bits,
    row4: u32,
    step: u32,
    rows: row4_rows,
}

fn rows_ahead(b: ptr<function, prefetched>, args: u32, chunks: u32) {
    (*b).step = 0u;
    if ((*b).row4 < arg(args, MATMUL_ROW4S)) {
        let p = part_of(args, (*b).row4);
        (*b).rows = row4_of(args, p.part, (*b).row4 - p.begin, chunks);
    }
}

fn fetch_ahead(b: ptr<function, prefetched>, args: u32, chunks: u32, local: u32) {
    if ((*b).row4 < arg(args, MATMUL_ROW4S)) {
        (*b).held = fetch_row4((*b).rows, chunks, (*b).step * TEAM + local % TEAM);
        (*b).step += 1u;
        if ((*b).step * TEAM >= chunks) {
            (*b).row4 += arg(args, MATMUL_ROW_GROUPS) * TEAMS;
            rows_ahead(b, args, chunks);
        }
    }
}

// The first row4 of workgroup v; the workgroups of the same row of x have different ones.
fn first_row4(args: u32, v: u32) -> u32 {
    if (arg(args, MATMUL_X_ROWS) == 1u) { return v; }
    return v % arg(args, MATMUL_ROW_GROUPS);
}

fn prefetch(args: u32, v: u32, local: u32) -> prefetched {
    var b: prefetched;
    if (PREFETCHES == 1u) {
        let chunks = (length_of_row(args) + CHUNK - 1u) / CHUNK;
        b.row4 = first_row4(args, v) + local / TEAM * arg(args, MATMUL_ROW_GROUPS);
        rows_ahead(&b, args, chunks);
        fetch_ahead(&b, args, chunks, local);
    }
    return b;
}

// ---- products ---------------------------------------------------------------

// Without PREFETCHES: one row after the other. `here`: the chunk's place in workgroup memory.
fn dot_rows(args: u32, q: row4_rows, chunks: u32, c: u32, here: u32) -> vec4<f32> {
    var at = q.at;
    var rows = q.rows;
    var sums = vec4<f32>();
    for (var r = 0u; r < at_run_time(arg(args, MATMUL_FOUR)); r++) {
        let bits = fetch(matrix(at[r], q.chunks), rows[r] * chunks + c);
        var sum = 0.0;
        for (var i = 0u; i < at_run_time(arg(args, MATMUL_CHUNK_VEC4S)); i++) {
            sum += dot(weight_vec4(bits, i), shared_x_vec4(i * (SEGMENT / CHUNK) + here));
        }
        sums[r] = sum;
    }
    return sums;
}

fn add_row4(before: vec4<f32>, b: row4_bits, here: u32) -> vec4<f32> {
    var sums = before;
    for (var i = 0u; i < CHUNK / 4u; i++) {
        sums = add_vec4(sums, b, i, shared_x_vec4(i * (SEGMENT / CHUNK) + here));
    }
    return sums;
}

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var b = fetched;
    let k = length_of_row(args);
    var t = 0u;
    if (arg(args, MATMUL_X_ROWS) > 1u) { t = v / arg(args, MATMUL_ROW_GROUPS); }
    // What split attention left is always one row of x.
    let x = arg(args, MATMUL_X) + select(t * k, 0u, COMBINES_SPLITS == 1u && arg(args, MATMUL_X_FORM) == X_SPLITS);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let lane = local % TEAM;
    let team = local / TEAM;
    let norms = NORMS == 1u && arg(args, MATMUL_X_FORM) == X_NORMED;
    var squares = 0.0;
    for (var start = first_row4(args, v); start < arg(args, MATMUL_ROW4S);
         start += arg(args, MATMUL_ROW_GROUPS) * TEAMS) {
        let is_first = start < arg(args, MATMUL_ROW_GROUPS);
        let row4 = start + team * arg(args, MATMUL_ROW_GROUPS);
        let busy = row4 < arg(args, MATMUL_ROW4S);
        let p = part_of(args, min(row4, arg(args, MATMUL_ROW4S) - 1u));
        let q = row4_of(args, p.part, row4 - p.begin, chunks);
        var sums = vec4<f32>();
        var r: epilogue_operands;
        if (busy && lane == 0u) { r = fetch_operands(args, p.part, q.rows, t); }
        for (var step = 0u; step * TEAM < chunks; step++) {
            let segment = step * TEAM * CHUNK / SEGMENT * SEGMENT;
            if (segment == step * TEAM * CHUNK && (is_first || k > SEGMENT)) {
                workgroupBarrier();
                share_x(args, x, segment, local);
                workgroupBarrier();
                if (norms && is_first) {
                    squares += noted_squares(min(at_run_time(SEGMENT), (k + 31u) / 32u * 32u - segment) / 4u, local);
                }
            }
            let c = step * TEAM + lane;
            if (PREFETCHES == 1u) {
                let bits = b.held;
                fetch_ahead(&b, args, chunks, local);
                if (busy && c < chunks) { sums = add_row4(sums, bits, c - segment / CHUNK); }
            } else if (busy && c < chunks) {
                sums += dot_rows(args, q, chunks, c, c - segment / CHUNK);
            }
        }
        var scale = 1.0;
        if (norms) { scale = inverseSqrt(fma(squares, inverse_of(f32(k)), arg_float(args, MATMUL_NORM_EPSILON))); }
        let total = sum_of_team(sums, local);
        if (lane == 0u && busy) { finish(args, p.part, q.first, q.rows, total * scale, t, r); }
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
