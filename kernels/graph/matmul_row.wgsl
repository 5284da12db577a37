// Matrix products for one row of x, for subgroups: TEAM threads share a quad, each with the same few chunks of every row, so
// that what a thread needs of x stays in its registers. A workgroup has quads that follow each other, and its teams take
// turns; so many turns' weights are always on their way, the first before x is there (`begin`).
//
// Everyone wants all of x at the same time, and it is little: what counts is how often memory is asked for it. So each
// workgroup asks once, neighbours for neighbours, and its teams then have it from workgroup memory.
//
// A row's sum is made in the same order however the quads are shared out: TEAM, STEPS and the subgroups' size decide.
const THREADS = 512u;
const TEAM = 128u;
const LENGTH = 896u;  // of a row
const FOURS = 2u;     // a quarter of a chunk
const STEPS = 1u;     // chunks of a row that a thread has
const AT_ONCE = 1u;     // quads of a team that are on their way at once
const ONCE = 0u;        // 1: those are all that a workgroup has
const MOST_AT_ONCE = 5u; // the same number for all kernels that share memory
const WORDS = 2u;     // elements of x that a thread asks for
const NORMS = 0u;     // 1: x is normed
const SQUARES = 64u;  // sums of squares that there is room for
const JOINS = 0u;     // 1: x is in parts, that split attention left
const PARTS_AT_ONCE = 6u; // that are joined
//!wgsl-only
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "after.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "matmul.wgsl"
//!include "quad.wgsl"
//!include "staged.wgsl"
//!include "x_FORM.wgsl"

const TEAMS = THREADS / TEAM;
const WIDTH = TEAM / SUBGROUP; // subgroups of a team
const CHUNKS = (LENGTH + CHUNK - 1u) / CHUNK;
const APART = CHUNKS | 1u; // for neighbouring chunks in workgroup memory
const SUMS = MOST_AT_ONCE * 4u * THREADS / SUBGROUP;
const APART_SUMS = select(1u, 2u, SUBGROUP >= 16u); // 2: those of the next turns lie beside, and nobody waits for who reads these
var<workgroup> sums_of: array<f32, APART_SUMS * SUMS>;
var<workgroup> squares_of: array<f32, SQUARES>; // of as many elements as a subgroup has threads

// ---- weights ----------------------------------------------------------------

// What is on its way before x is there: weights, and those of the norm for the elements that this thread asks for.
struct begun {
//!for i AT_ONCE
//!for s STEPS
    held_#i_#s: quad_bits,
//!end
//!end
//!for w WORDS
    norm_#w: f32,
//!end
}

// The quads of workgroup v: from, up to. All have arg(13), and the first arg(14) of them one more.
fn quads_of(args: u32, v: u32) -> vec2<u32> {
    let first = v * arg(args, 13) + min(v, arg(args, 14));
    return vec2<u32>(first, first + arg(args, 13) + select(0u, 1u, v < arg(args, 14)));
}

fn rows_of(args: u32, quad: u32) -> quad_rows {
    let p = part_of(args, quad);
    return quad_of(args, p.part, quad - p.begin, CHUNKS);
}

// Step s of the team's turn i, from `quad` on.
//!for i AT_ONCE
//!for s STEPS
fn fetch_#i_#s(b: ptr<function, begun>, args: u32, quad: u32, end: u32, lane: u32) {
    if (quad + #iu * TEAMS < end) { (*b).held_#i_#s = fetch_quad(rows_of(args, quad + #iu * TEAMS), CHUNKS, lane + #su * TEAM); }
}
//!end
//!end

// ---- x ----------------------------------------------------------------------

const EMPTY = -3.4e38;

fn bits_of_part(at: u32, size: u32, i: u32) -> vec4<u32> { return vec4<u32>(bits_at(at + i), bits_at(at + i + 1u), bits_at(at + size), bits_at(at + size + 1u)); }

// x for a pair of elements, put together from the parts of their head: each has sums of values, the maximum that they are relative
// to, and the sum of their weights. Parts that have nothing come last.
fn join(args: u32, x: u32, i: u32) {
    let size = arg(args, 6);
    let splits = arg(args, 7);
    let first = x + min(i, LENGTH - 2u) / size * splits * (size + 2u);
    let in_head = min(i, LENGTH - 2u) % size;
    var most = EMPTY;
    var total = 0.0;
    var value = vec2<f32>();
    for (var s = 0u; s < splits; s += PARTS_AT_ONCE) {
//!for p PARTS_AT_ONCE
        let at_#p = first + min(s + #pu, splits - 1u) * (size + 2u);
        var bits_#p = bits_of_part(at_#p, size, in_head);
//!end
        var looks = 0u;
        loop {
            var missing = 0u;
//!for p PARTS_AT_ONCE
            missing |= late(bits_#p.x) | late(bits_#p.y) | late(bits_#p.z) | late(bits_#p.w);
//!end
            if (missing == 0u || !look_again(looks)) { break; }
            looks += 1u;
//!for p PARTS_AT_ONCE
            bits_#p = bits_of_part(at_#p, size, in_head);
//!end
        }
        var higher = most;
//!for p PARTS_AT_ONCE
        let most_#p = select(EMPTY, float_of(bits_#p.z), s + #pu < splits);
        higher = max(higher, most_#p);
//!end
        let mend = exp(most - higher);
        total *= mend;
        value *= mend;
        var has = false;
//!for p PARTS_AT_ONCE
        has = most_#p > EMPTY; // the last one says if there are more
        let weight_#p = select(0.0, exp(most_#p - higher), has);
        total = fma(weight_#p, float_of(bits_#p.w), total); // said so that it is the same everywhere
        value = fma(vec2<f32>(weight_#p), vec2<f32>(float_of(bits_#p.x), float_of(bits_#p.y)), value);
//!end
        most = higher;
        if (!has) { break; }
    }
    if (i < CHUNKS * CHUNK) {
        let two = select(vec2<f32>(), value * inverse_of(total), vec2<bool>(i < LENGTH));
        put_x(i, two.x, true);
        put_x(i + 1u, two.y, true);
    }
}

// No branches around the loads here: behind one, they would begin when those before it have ended.
fn stage(b: ptr<function, begun>, args: u32, x: u32, local: u32) {
    if (JOINS == 1u) {
        for (var start = 0u; start < CHUNKS * CHUNK; start += THREADS * 2u) {
            join(args, x, start + local * 2u);
            let next = start / THREADS + 2u; // words of each thread that are there
            if (next >= WORDS || next % PIECE_WORDS == 0u) { settle_x((next - 1u) / PIECE_WORDS, local, next < WORDS); }
        }
    } else {
//!for w WORDS
        let at_#w = local + #wu * THREADS;
        var bits_#w = bits_at(x + min(at_#w, LENGTH - 1u));
//!end
        var looks = 0u;
        loop {
            var missing = 0u;
//!for w WORDS
            missing |= late(bits_#w);
//!end
            if (missing == 0u || arg(args, 15) == 0u || !look_again(looks)) { break; }
            looks += 1u;
//!for w WORDS
            bits_#w = bits_at(x + min(at_#w, LENGTH - 1u));
//!end
        }
//!for w WORDS
        let value_#w = select(0.0, float_of(bits_#w), at_#w < LENGTH);
//!end
//!for w WORDS
        if (NORMS == 1u) {
            let squares = subgroupAdd(value_#w * value_#w);
            if (local % SUBGROUP == 0u && at_#w < LENGTH) { squares_of[at_#w / SUBGROUP] = squares; }
        }
        put_x(at_#w, select(value_#w, value_#w * (*b).norm_#w, NORMS == 1u), at_#w < CHUNKS * CHUNK);
        if (#wu + 1u == WORDS || #wu % PIECE_WORDS == PIECE_WORDS - 1u) { settle_x(#wu / PIECE_WORDS, local, #wu + 1u < WORDS); }
//!end
    }
}

fn sum_of_squares(local: u32) -> f32 {
    var sum = 0.0;
    for (var i = local % SUBGROUP; i < (LENGTH + SUBGROUP - 1u) / SUBGROUP; i += SUBGROUP) { sum += squares_of[i]; }
    return subgroupAdd(sum);
}

// ---- products ---------------------------------------------------------------

fn begin(args: u32, v: u32, local: u32) -> begun {
    var b: begun;
    let quads = quads_of(args, v);
//!for i AT_ONCE
//!for s STEPS
    fetch_#i_#s(&b, args, quads.x + local / TEAM, quads.y, local % TEAM);
//!end
//!end
    if (NORMS == 1u) {
//!for w WORDS
        b.norm_#w = load(arg(args, 6) + min(local + #wu * THREADS, LENGTH - 1u)) + arg_float(args, 8);
//!end
    }
    return b;
}

// The four sums over a subgroup, each known to a quarter of its threads: an exchange halves what is left to be added up.
fn folded(sums: vec4<f32>, lane: u32) -> f32 {
    let upper = lane / (SUBGROUP / 2u) % 2u == 1u;
    let two = select(sums.xy, sums.zw, upper) + subgroupShuffleXor(select(sums.zw, sums.xy, upper), SUBGROUP / 2u);
    let second = lane / (SUBGROUP / 4u) % 2u == 1u;
    var one = select(two.x, two.y, second) + subgroupShuffleXor(select(two.y, two.x, second), SUBGROUP / 4u);
    for (var apart = SUBGROUP / 8u; apart > 0u; apart /= 2u) { one += subgroupShuffleXor(one, apart); }
    return one;
}

// What the team's subgroups found for a row.
fn sum_of_row(at: u32) -> f32 {
    var sum = sums_of[at];
    for (var i = 1u; i < WIDTH; i++) { sum += sums_of[at + i]; }
    return sum;
}

fn work(args: u32, v: u32, local: u32, begun_with: begun) {
    var b = begun_with;
    let quads = quads_of(args, v);
    let lane = local % TEAM;
    let team = local / TEAM;
    let x = arg(args, 4);
//!for s STEPS
    var x_#s: x_of_chunk;
//!end
    var scale = 1.0;
    var sums_at = 0u;
    for (var start = quads.x; start < quads.y; start += AT_ONCE * TEAMS) {
        // Four threads finish a quad, the first of them in the end; of a team that is a subgroup one, each of its first few threads
        // another quad.
        let turn = select(local / 4u, team + lane * TEAMS, WIDTH == 1u);
        let mine = turn < AT_ONCE * TEAMS && start + turn < quads.y;
        let finishes = mine && (WIDTH == 1u || local % 4u == 0u);
        let quad = min(start + turn, quads.y - 1u);
        let p = part_of(args, quad);
        let q = quad_of(args, p.part, quad - p.begin, CHUNKS);
        var r: ready;
        if (finishes) { r = get_ready(args, p.part, q.rows, 0u); }
        if (start == quads.x) {
            stage(&b, args, x, local);
            workgroupBarrier();
//!for s STEPS
            x_#s = x_at(#su * TEAM + lane);
//!end
            if (NORMS == 1u) { scale = inverseSqrt(sum_of_squares(local) / f32(LENGTH) + arg_float(args, 7)); }
        } else if (WIDTH > 1u && APART_SUMS == 1u) {
            workgroupBarrier();
        }
//!for i AT_ONCE
        var sums_#i = vec4<f32>();
//!for s STEPS
        sums_#i += dot_chunk(b.held_#i_#s, x_#s);
        if (ONCE == 0u) { fetch_#i_#s(&b, args, start + AT_ONCE * TEAMS + team, quads.y, lane); }
//!end
//!end
        var total = vec4<f32>();
        // By quads in the order of the workgroup's, rows, subgroups.
//!for i AT_ONCE
        let sum_#i = folded(sums_#i, local);
        if (WIDTH == 1u) {
            let rows_#i = vec4<f32>(subgroupShuffle(sum_#i, 0u), subgroupShuffle(sum_#i, SUBGROUP / 4u), subgroupShuffle(sum_#i, SUBGROUP / 2u), subgroupShuffle(sum_#i, SUBGROUP / 4u * 3u));
            if (lane == #iu) { total = rows_#i; }
        } else if (local % (SUBGROUP / 4u) == 0u) {
            sums_of[sums_at + ((#iu * TEAMS + team) * 4u + local % SUBGROUP / (SUBGROUP / 4u)) * WIDTH + lane / SUBGROUP] = sum_#i;
        }
//!end
        if (WIDTH > 1u) {
            workgroupBarrier();
            var row = 0.0;
            if (mine) { row = sum_of_row(sums_at + local * WIDTH); }
            total = vec4<f32>(row, subgroupShuffleDown(row, 1u), subgroupShuffleDown(row, 2u), subgroupShuffleDown(row, 3u));
        }
        if (finishes) { finish(args, p.part, q.first, q.rows, scale * total, 0u, r); }
        if (ONCE == 1u) { break; }
        if (APART_SUMS == 2u) { sums_at = SUMS - sums_at; }
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, begin(args, v, local)); }
