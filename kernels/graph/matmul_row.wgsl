// Matrix products for one row of x, with subgroups: TEAM threads share a row4, each with the same few chunks of every
// row, so that its elements of x stay in registers. A workgroup has consecutive row4s, of which its teams work on
// AT_ONCE * TEAMS at a time; the weights of as many are always in flight, the first of them before x is there
// (`prefetch`).
//
// All workgroups need all of x at the same time. It is small: what counts is how often memory is asked for it. So each
// workgroup reads it once, neighbouring threads neighbouring elements, and shares it in workgroup memory.
//
// A row's sum is made in the same order however the row4s are shared out: TEAM, STEPS and the size of subgroups
// determine it.
override THREADS = 512u;
override TEAM = 128u;
override LENGTH = 896u; // elements of a row
override CHUNK_VEC4S = 2u; // a quarter of CHUNK
override STEPS = 1u; // chunks of a row that a thread has
override AT_ONCE = 1u; // row4s of a team that are in flight at once
override ONCE = 0u; // 1: those are all that a workgroup has
override MOST_AT_ONCE = 5u; // the same for all kernels of a megakernel, which share workgroup memory
override PIECES = 1u; // pieces in which x is put into workgroup memory,
override PIECE_WORDS = 2u; // and elements of each that a thread reads
override NORMS = 0u; // 1: x is normed
override CHAINS = 1u; // sums of squares that a thread has: SQUARED / THREADS
override COMBINES_SPLITS = 0u; // 1: x is what split attention left
override SPLITS = 1u; // then: splits of a head
override COMBINED_WORDS = 1u; // elements of x that a thread combines at once
override SPLITS_OF_X = 1u; // splits of all heads that there is room for
override WARMED_WORDS = 0u; // words that warm_cache reads
override DENSE = 1u; // 0: matrices are chosen at run time, and EXPERTS is 1 (include/row_experts.wgsl)
override EXPERTS = 0u;
override SLOTS = 1u; // then: matrices that are chosen for a row of x
override MIXES = 0u; // 1: what they make is added up
override OWN_X = 0u; // 1: each has an x of its own
override LATE = 0u; // 1: which they are is not known when other kernels would prefetch
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
//!include "x_XTYPE.wgsl"

const TEAMS = THREADS / TEAM;
const WIDTH = TEAM / SUBGROUP; // subgroups of a team
const CHUNKS = (LENGTH + CHUNK - 1u) / CHUNK;
const STRIDE = CHUNKS | 1u; // distance of a chunk's vectors in workgroup memory
const SUMS = MOST_AT_ONCE * 4u * THREADS / SUBGROUP;
// 2: the next sums go elsewhere, and no thread waits until these are read
override SUM_BUFFERS = select(1u, 2u, SUBGROUP >= 16u);
var<workgroup> sums_of: array<f32, SUM_BUFFERS * SUMS>;
const SQUARED = 512u; // elements this far apart share a sum of squares, whatever the number of threads
const_assert PIECES == 1u || PIECE_WORDS % CHAINS == 0u;
var<workgroup> squares_of: array<f32, SQUARED / SUBGROUP>; // each the sum over a subgroup
var<workgroup> max_of_split: array<f32, SPLITS_OF_X>;
var<workgroup> sum_of_split: array<f32, SPLITS_OF_X>;
var<workgroup> weight_of_split: array<f32, SPLITS_OF_X>;

// ---- weights ----------------------------------------------------------------

// What is in flight before x is there: weights, and the norm's weights for the elements that this thread reads.
struct prefetched {
//!for i AT_ONCE
//!for s STEPS
    held_#i_#s: row4_bits,
//!end
//!end
//!for p PIECES
//!for w PIECE_WORDS
    norm_#p_#w: f32,
//!end
//!end
}

// The row4s of workgroup v: from .x up to, not including, .y.
fn row4s_of(args: u32, v: u32) -> vec2<u32> {
    var first = v * arg(args, MATMUL_GROUP_ROW4S) + min(v, arg(args, MATMUL_LARGER_GROUPS));
    var more = select(0u, 1u, v < arg(args, MATMUL_LARGER_GROUPS));
    if (OWN_X == 1u) {
        let here = v % arg(args, MATMUL_ROW_GROUPS);
        first = v / arg(args, MATMUL_ROW_GROUPS) * (part_arg(args, PART, PART_ROW4S) / SLOTS) +
            here * arg(args, MATMUL_GROUP_ROW4S) + min(here, arg(args, MATMUL_LARGER_GROUPS));
        more = select(0u, 1u, here < arg(args, MATMUL_LARGER_GROUPS));
    }
    return vec2<u32>(first, first + arg(args, MATMUL_GROUP_ROW4S) + more);
}

//!for _ DENSE
fn read_routes(args: u32, local: u32) {}
fn weighed(i: u32, value: f32) -> f32 { return value; }
fn completed(args: u32, row4: u32, sums: vec4<f32>) -> vec4<f32> { return sums; }

fn rows_of(args: u32, row4: u32) -> row4_rows {
    let p = part_of(args, row4);
    return row4_of(args, p.part, row4 - p.begin, CHUNKS);
}

fn fetch_here(args: u32, row4: u32, chunk: u32) -> row4_bits { return fetch_row4(rows_of(args, row4), CHUNKS, chunk); }
//!end
//!for _ EXPERTS
//!include "row_experts.wgsl"
//!end

// fetch_i_s reads step s of the team's i-th row4 from `row4` on.
//!for i AT_ONCE
//!for s STEPS
fn fetch_#i_#s(b: ptr<function, prefetched>, args: u32, row4: u32, end: u32, lane: u32) {
    if (row4 + #iu * TEAMS < end) {
        (*b).held_#i_#s = fetch_here(args, row4 + #iu * TEAMS, lane + #su * TEAM);
    }
}
//!end
//!end

// Reads a word of every two chunks of workgroup v's first weights (the product has one part): in a megakernel, while
// the phases before leave memory idle, this brings them into the cache, and takes few registers.
struct warmed {
    word: u32,
//!for i WARMED_WORDS
    word_#i: u32,
//!end
}

fn warm_cache(args: u32, v: u32, local: u32) -> warmed {
    var t: warmed;
    let row4s = row4s_of(args, v);
    let matrices = select(1u, 2u, GATES == 1u && part_arg(args, PART, PART_FORM) == FORM_GATED);
    let first = row4s.x * (4u / matrices) * CHUNKS;
    let last = row4s.y * (4u / matrices) * CHUNKS - 1u;
//!for i WARMED_WORDS
    t.word_#i = weights[part_arg(args, PART, PART_WEIGHT + #iu % matrices) / 4u +
        min(first + 2u * (#iu / matrices * THREADS + local), last)].x;
//!end
    return t;
}

fn warmed_bits(t: warmed) -> u32 {
    var bits = t.word;
//!for i WARMED_WORDS
    bits |= t.word_#i;
//!end
    return bits;
}

// ---- x ----------------------------------------------------------------------

const EMPTY = -3.4e38;

// Computes each split's share of its head's result, as include/attention_splits.wgsl does. While splits are missing,
// only their maxima and sums of weights are read again, by one thread each: all workgroups need all of x at the same
// time, and if they read all of its splits again and again, they would slow down those that still compute them.
fn weigh_splits(args: u32, x: u32, local: u32) {
    let at = x + local * (arg(args, MATMUL_HEAD_SIZE) + 2u) + arg(args, MATMUL_HEAD_SIZE);
    let counts = local < LENGTH / arg(args, MATMUL_HEAD_SIZE) * SPLITS;
    if (counts) {
        var most = bits_at(at);
        var total = bits_at(at + 1u);
        for (var spins = 0u; spins < MAX_SPINS; spins++) {
            if ((is_stale(most) | is_stale(total)) == 0u || !keep_spinning(spins)) { break; }
            most = bits_at(at);
            total = bits_at(at + 1u);
        }
        max_of_split[local] = float_of(most);
        sum_of_split[local] = float_of(total);
    }
    workgroupBarrier();
    if (counts) {
        let first = local / SPLITS * SPLITS;
        var highest = EMPTY;
        for (var s = 0u; s < SPLITS; s++) { highest = max(highest, max_of_split[first + s]); }
        var total = 0.0;
        for (var s = 0u; s < SPLITS; s++) {
            total = fma(sum_of_split[first + s], exp(max_of_split[first + s] - highest), total);
        }
        weight_of_split[local] = select(0.0, exp(max_of_split[local] - highest) * inverse_of(total),
            max_of_split[local] > EMPTY);
    }
    workgroupBarrier();
}

// Sums of squares of the elements that a thread reads.
struct squares {
//!for c CHAINS
    sum_#c: f32,
//!end
}

// Reads x and puts it into workgroup memory. A thread's elements are in flight all at once, and are stored piece by
// piece. (There are no branches around loads: loads behind a branch would begin when those before it have ended. And
// there is one copy of everything, because the instructions of all phases exceed the GPU's nearest caches: so `pieces`
// is a number that the compiler does not know.)
fn share_x(b: ptr<function, prefetched>, args: u32, x: u32, pieces: u32, local: u32) -> squares {
    var s: squares;
    if (COMBINES_SPLITS == 1u) {
        let size = arg(args, MATMUL_HEAD_SIZE);
        weigh_splits(args, x, local);
        for (var left = pieces * PIECE_WORDS / COMBINED_WORDS; left > 0u; left--) {
            let first = pieces * PIECE_WORDS - left * COMBINED_WORDS;
//!for w COMBINED_WORDS
            let at_#w = local + (first + #wu) * THREADS;
            let part_#w = min(at_#w, LENGTH - 1u) / size * SPLITS;
            let begins_#w = x + part_#w * (size + 2u) + min(at_#w, LENGTH - 1u) % size;
//!for p SPLITS
            var bits_#w_#p: u32;
//!end
//!end
            for (var spins = 0u; spins < MAX_SPINS; spins++) {
                var missing = 0u;
//!for w COMBINED_WORDS
//!for p SPLITS
                bits_#w_#p = bits_at(begins_#w + #pu * (size + 2u));
//!end
//!end
//!for w COMBINED_WORDS
//!for p SPLITS
                missing |= is_stale(bits_#w_#p);
//!end
//!end
                if (missing == 0u || !keep_spinning(spins)) { break; }
            }
//!for w COMBINED_WORDS
            var value_#w = 0.0;
//!for p SPLITS
            // fma, so that all kernels round alike
            value_#w = fma(weight_of_split[part_#w + #pu], float_of(bits_#w_#p), value_#w);
//!end
            put_x(at_#w, select(0.0, value_#w, at_#w < LENGTH), at_#w < CHUNKS * CHUNK);
//!end
            let there = first + COMBINED_WORDS;
            if (there % PIECE_WORDS == 0u) { pack_x(first / PIECE_WORDS, local, there < pieces * PIECE_WORDS); }
        }
        return s;
    }
//!for p PIECES
//!for w PIECE_WORDS
    var bits_#p_#w: u32;
//!end
//!end
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        var missing = 0u;
//!for p PIECES
//!for w PIECE_WORDS
        bits_#p_#w = bits_at(x + min(local + (#pu * PIECE_WORDS + #wu) * THREADS, LENGTH - 1u));
//!end
//!end
//!for p PIECES
//!for w PIECE_WORDS
        missing |= is_stale(bits_#p_#w);
//!end
//!end
        if (missing == 0u || arg(args, MATMUL_X_COMPUTED) == 0u || !keep_spinning(spins)) { break; }
    }
    for (var left = pieces; left > 0u; left--) {
        let piece = pieces - left;
//!for w PIECE_WORDS
        let at_#w = local + (piece * PIECE_WORDS + #wu) * THREADS;
        var bits_#w = bits_0_#w;
        var norm_#w = (*b).norm_0_#w;
//!for p PIECES
        if (piece == #pu) {
            bits_#w = bits_#p_#w;
            norm_#w = (*b).norm_#p_#w;
        }
//!end
        let value_#w = select(0.0, float_of(bits_#w), at_#w < LENGTH);
//!for c CHAINS
        if (NORMS == 1u && #wu % CHAINS == #cu) { s.sum_#c = fma(value_#w, value_#w, s.sum_#c); }
//!end
        put_x(at_#w, weighed(at_#w, select(value_#w, value_#w * norm_#w, NORMS == 1u)), at_#w < CHUNKS * CHUNK);
//!end
        pack_x(piece, local, piece + 1u < pieces);
    }
    return s;
}

// The norm itself is a factor, which is needed only when the products are there.
fn note_squares(s: squares, local: u32) {
//!for c CHAINS
    let sum_#c = sum_over_subgroup(rounded(vec4<f32>(s.sum_#c)).x, local);
    if (local % SUBGROUP == 0u) { squares_of[(local + #cu * THREADS) / SUBGROUP] = sum_#c; }
//!end
}

fn sum_of_squares() -> f32 {
    var sum = squares_of[0];
    for (var i = 1u; i < SQUARED / SUBGROUP; i++) { sum += squares_of[i]; }
    return sum;
}

// ---- products ---------------------------------------------------------------

fn fetch_first(b: ptr<function, prefetched>, args: u32, v: u32, local: u32) {
    let row4s = row4s_of(args, v);
    read_routes(args, local);
//!for i AT_ONCE
//!for s STEPS
    fetch_#i_#s(b, args, row4s.x + local / TEAM, row4s.y, local % TEAM);
//!end
//!end
}

fn prefetch(args: u32, v: u32, local: u32) -> prefetched {
    var b: prefetched;
    // First, because memory answers in order, and these are needed as soon as x is there.
    if (NORMS == 1u) {
//!for p PIECES
//!for w PIECE_WORDS
        b.norm_#p_#w = rounded(vec4<f32>(load(arg(args, MATMUL_NORM_WEIGHT) +
            min(local + (#pu * PIECE_WORDS + #wu) * THREADS, LENGTH - 1u)) + arg_float(args, MATMUL_NORM_OFFSET))).x;
//!end
//!end
    }
    if (LATE == 0u) { fetch_first(&b, args, v, local); }
    return b;
}

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

// The sum of a row over the team's subgroups.
fn sum_of_row(at: u32) -> f32 {
    var sum = sums_of[at];
    for (var i = 1u; i < WIDTH; i++) { sum += sums_of[at + i]; }
    return sum;
}

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var b = fetched;
    if (LATE == 1u) { fetch_first(&b, args, v, local); }
    let row4s = row4s_of(args, v);
    let lane = local % TEAM;
    let team = local / TEAM;
    var x = arg(args, MATMUL_X);
    if (OWN_X == 1u) { x += v / arg(args, MATMUL_ROW_GROUPS) * LENGTH; }
//!for s STEPS
    var x_#s: x_of_chunk;
//!end
    var own: squares;
    var scale = 1.0;
    var sums_at = 0u;
    var start = row4s.x;
    for (var left = (row4s.y - row4s.x + AT_ONCE * TEAMS - 1u) / (AT_ONCE * TEAMS); left > 0u; left--) {
        // Which of the row4s at hand this thread finishes: four threads add up a row4, and the first of them finishes
        // it; in a team of one subgroup each of the first few threads finishes another row4.
        let slot = select(local / 4u, team + lane * TEAMS, WIDTH == 1u);
        let mine = slot < AT_ONCE * TEAMS && start + slot < row4s.y;
        let finishes = mine && (WIDTH == 1u || local % 4u == 0u);
        let row4 = min(start + slot, row4s.y - 1u);
        let p = part_of(args, row4);
        let q = row4_of(args, p.part, row4 - p.begin, CHUNKS);
        var r: epilogue_operands;
        if (finishes) { r = fetch_operands(args, p.part, q.rows, 0u); }
        if (start == row4s.x) {
            own = share_x(&b, args, x, select(PIECES, 0u, PIECES > 1u && row4s.y == 0u), local); // (row4s.y is never 0)
            workgroupBarrier();
//!for s STEPS
            x_#s = x_at(#su * TEAM + lane);
//!end
        } else if (WIDTH > 1u && SUM_BUFFERS == 1u) {
            workgroupBarrier();
        }
//!for i AT_ONCE
        var sums_#i = vec4<f32>();
//!for s STEPS
        sums_#i = add_chunk(sums_#i, b.held_#i_#s, x_#s);
        if (ONCE == 0u) { fetch_#i_#s(&b, args, start + AT_ONCE * TEAMS + team, row4s.y, lane); }
//!end
//!end
        var total = vec4<f32>();
        // In workgroup memory sums are ordered by row4, row, subgroup.
//!for i AT_ONCE
        let sum_#i = folded(sums_#i, local);
        if (WIDTH == 1u) {
            let rows_#i = vec4<f32>(subgroupShuffle(sum_#i, 0u), subgroupShuffle(sum_#i, SUBGROUP / 4u),
                subgroupShuffle(sum_#i, SUBGROUP / 2u), subgroupShuffle(sum_#i, SUBGROUP / 4u * 3u));
            if (lane == #iu) { total = rows_#i; }
        } else if (local % (SUBGROUP / 4u) == 0u) {
            sums_of[sums_at + ((#iu * TEAMS + team) * 4u + local % SUBGROUP / (SUBGROUP / 4u)) * WIDTH +
                lane / SUBGROUP] = sum_#i;
        }
//!end
        if (NORMS == 1u && start == row4s.x) {
            note_squares(own, local);
            if (WIDTH == 1u) { workgroupBarrier(); }
        }
        if (WIDTH > 1u) {
            workgroupBarrier();
            var row = 0.0;
            if (mine) { row = sum_of_row(sums_at + local * WIDTH); }
            total = vec4<f32>(row, shuffle_down(row, 1u, local), shuffle_down(row, 2u, local),
                shuffle_down(row, 3u, local));
        }
        if (NORMS == 1u && start == row4s.x && finishes) {
            scale = inverseSqrt(fma(sum_of_squares(), 1.0 / f32(LENGTH), arg_float(args, MATMUL_NORM_EPSILON)));
        }
        if (finishes) { finish(args, p.part, q.first, q.rows, completed(args, row4, scale * total), 0u, r); }
        if (ONCE == 1u) { break; }
        if (SUM_BUFFERS == 2u) { sums_at = SUMS - sums_at; }
        start += AT_ONCE * TEAMS;
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
