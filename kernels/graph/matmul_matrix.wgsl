// Matrix products for many rows of x by matrix units: x and weights go as f16 into workgroup memory, DEPTH of k at a
// time, and subgroups multiply fragments of them, with sums in f32. A tile has ROWS by COLUMNS subgroups; SLICES times
// as many work on it, each on its share of k, and add up at the end: a matrix with few rows has few tiles, and a
// multiprocessor needs several subgroups. The next numbers are in flight while the subgroups multiply those in
// workgroup memory. MATMUL_ROW_GROUPS is the number of tiles for each TILE_ROWS rows of x. k is a multiple of DEPTH; x
// is never normed here.
//!wgsl-only
override THREADS = 128u;
override LENGTH = 32u; // k
override ROWS = 2u;
override COLUMNS = 2u;
override SLICES = 1u;
override DOWN = 4u; // fragments of a subgroup: along x,
override PIECES = 2u; // and along the weights' rows: pieces,
override AT_ONCE = 2u; // of as many, whose sums are in workgroup memory at the same time: a round
override DEPTH = 32u;
override STEPS = 2u; // fragments of a subgroup along DEPTH
override SUM_BUFFERS = 2u; // while one is read, the next sums go to the other; 1: they wait
override ENDS = 4u; // row4s that a thread has of a round
override FRAGMENT_ROWS = 16u;
override FRAGMENT_COLUMNS = 16u;
override FRAGMENT_DEPTH = 16u;
override WHOLE_ROWS = 0u; // 1: the rows of x are a multiple of TILE_ROWS
override W_LINEAR = 0u; // 1: all tiles are whole, and a thread's rows of weights the same distance apart
override F32_MATH = 1u; // 0: the weight type's file makes f16 of weights
override X_EACH = 16u; // pairs of x that a thread brings
override X_WIDE = 1u; // 1: x is f32
override X_HALVES = 0u; // 1: f16, two to a word
override W_EACH = 1u; // chunks of weights that a thread brings, if they come in chunks of 32;
override W_PAIRS = 0u; // else pairs
override W_WIDE = 0u; // 1: of f32
override W_NARROW = 0u; // 1: of f16 or bf16
override W_BF16 = 0u; // 1: of bf16
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "angle.wgsl"
//!include "matmul.wgsl"
//!include "row_place.wgsl"
//!include "matrix_UNITS.wgsl"

const LANES_OF_SUBGROUP = THREADS / (ROWS * COLUMNS * SLICES);
const SUBGROUPS = ROWS * COLUMNS * SLICES;
const ACROSS = PIECES * AT_ONCE;
const ROUNDS = DOWN * PIECES;
const TILE_ROWS = ROWS * DOWN * FRAGMENT_ROWS;
const TILE_COLUMNS = COLUMNS * ACROSS * FRAGMENT_COLUMNS;
const PAIRS = DEPTH / 2u;
const ROWS_APART = THREADS / PAIRS; // rows between the pairs that a thread brings,
const EVEN = PAIRS != 16u || ROWS_APART % 8u == 0u; // in the order of row_of, too
const LINE = DEPTH + 8u; // rows lie in different banks, and begin at multiples of 16 bytes
const SUM_COLUMNS = AT_ONCE * FRAGMENT_COLUMNS;
const SUM_LINE = SUM_COLUMNS + 4u;
const AREA = FRAGMENT_ROWS * SUM_LINE; // of a subgroup
const AREA_ROW4S = FRAGMENT_ROWS * SUM_COLUMNS / 4u;
const W_AT = TILE_ROWS * LINE;
var<workgroup> tile: array<number, W_AT + TILE_COLUMNS * LINE>; // x, then weights: a line for each row
var<workgroup> sums: array<f32, SUM_BUFFERS * SUBGROUPS * AREA>;

// The row and the pair in it that a thread brings n-th. Neighbours bring neighbouring pairs; where a row is short, two
// rows whose banks differ.
fn row_of(n: u32) -> u32 {
    let q = n / PAIRS;
    if (PAIRS == 16u) { return q / 8u * 8u + q % 2u * 4u + q / 2u % 4u; }
    return q;
}

// The word of x at which item n begins, without k.
fn place_of_x(args: u32, t0: u32, n: u32) -> u32 {
    var t = t0 + row_of(n);
    if (WHOLE_ROWS == 0u) { t = min(t, arg(args, MATMUL_X_ROWS) - 1u); }
    let element = t * LENGTH + n % PAIRS * 2u;
    return arg(args, MATMUL_X) + select(element / 2u, element, X_WIDE == 1u);
}

// Where the i-th pair of a thread belongs in its half of the tile. Where rows are EVEN, the distance is known.
fn line_place(local: u32, i: u32) -> u32 {
    if (EVEN) { return row_of(local) * LINE + local % PAIRS * 2u + i * ROWS_APART * LINE; }
    let n = local + i * THREADS;
    return row_of(n) * LINE + n % PAIRS * 2u;
}

fn put_x(at: u32, first: u32, second: u32) {
    var halves = first;
    if (X_WIDE == 1u) { halves = halves_of(vec2<f32>(float_of(first), float_of(second))); }
    let y = numbers_of(halves);
    tile[at] = y.x;
    tile[at + 1u] = y.y;
}

// The word at which pair n of weights begins, without k.
fn place_of_w(args: u32, part: u32, first_row4: u32, chunks: u32, n: u32) -> u32 {
    let p = place_of_row(args, part, first_row4, chunks, row_of(n));
    return p.m.at + p.chunk * 4u + n % PAIRS * select(1u, 2u, W_WIDE == 1u);
}

fn put_w_pair(at: u32, first: u32, second: u32) {
    var halves = first;
    if (W_WIDE == 1u) { halves = halves_of(bitcast<vec2<f32>>(vec2<u32>(first, second))); }
    if (W_BF16 == 1u) { halves = halves_of(bitcast<vec2<f32>>(vec2<u32>(first << 16u, first & 0xffff0000u))); }
    let y = numbers_of(halves);
    tile[at] = y.x;
    tile[at + 1u] = y.y;
}

//!for _ F32_MATH
// Weights 4j to 4j+3 of a chunk as f16, two to a word.
fn weight_halves(b: bits_of_chunk, j: u32) -> vec2<u32> {
    let w = weight_vec4(b, j);
    return vec2<u32>(pack2x16float(w.xy), pack2x16float(w.zw));
}
//!end

// Chunk n of weights; there may be fewer than threads. Lanes that are eight apart would meet in the same banks: they
// store in another order.
const CHUNKS = TILE_COLUMNS * (DEPTH / 32u);
fn put_w_chunk(n: u32, b: bits_of_chunk) {
    if (n >= CHUNKS) { return; }
    let at = W_AT + n / (DEPTH / 32u) * LINE + n % (DEPTH / 32u) * 32u;
    let odd = n / 8u % 2u;
    let swap = n / 16u % 2u;
    for (var j = 0u; j < 8u; j++) {
        let i = j ^ odd;
        let halves = weight_halves(b, i);
        let y = numbers_of(select(halves.x, halves.y, swap == 1u));
        let z = numbers_of(select(halves.y, halves.x, swap == 1u));
        let to = at + 4u * i + 2u * swap;
        tile[to] = y.x;
        tile[to + 1u] = y.y;
        tile[to ^ 2u] = z.x;
        tile[(to ^ 2u) + 1u] = z.y;
    }
}

// A row4 of sums in workgroup memory, and what its epilogue reads.
struct end_of_row4 {
    t: u32,
    inside: bool,
    at: u32,
    rows: row4_rows,
    operands: epilogue_operands,
}

// The n-th of those whose rows begin at t0, and whose row4s at row4.
fn prepare_end(args: u32, part: u32, row4: u32, chunks: u32, t0: u32, n: u32) -> end_of_row4 {
    let area = n / AREA_ROW4S;
    let row = n % AREA_ROW4S / (SUM_COLUMNS / 4u);
    let column4 = n % (SUM_COLUMNS / 4u);
    let r = row4 + area % COLUMNS * ACROSS * (FRAGMENT_COLUMNS / 4u) + column4;
    var y: end_of_row4;
    y.t = t0 + area / COLUMNS * DOWN * FRAGMENT_ROWS + row;
    y.at = area * AREA + row * SUM_LINE + column4 * 4u;
    y.inside = n < ROWS * COLUMNS * AREA_ROW4S && y.t < arg(args, MATMUL_X_ROWS) &&
        r < part_arg(args, part, PART_ROW4S);
    if (y.inside) {
        y.rows = row4_of(args, part, r, chunks);
        y.operands = fetch_operands(args, part, y.rows.rows, y.t);
    }
    return y;
}

fn finish_end(args: u32, part: u32, y: end_of_row4, area: u32) {
    if (!y.inside) { return; }
    var sum = vec4<f32>();
    for (var s = 0u; s < SLICES; s++) {
        let at = (area + s * ROWS * COLUMNS) * AREA + y.at;
        sum += vec4<f32>(sums[at], sums[at + 1u], sums[at + 2u], sums[at + 3u]);
    }
    finish(args, part, y.rows.first, y.rows.rows, sum, y.t, y.operands);
}

fn body(args: u32, v: u32, local: u32) {
    const chunks = LENGTH / CHUNK;
    // Workgroups that run at the same time have the same weights.
    let down = (arg(args, MATMUL_X_ROWS) + TILE_ROWS - 1u) / TILE_ROWS;
    let t0 = v % down * TILE_ROWS;
    let tile = v / down * (TILE_COLUMNS / 4u);
    let p = part_of(args, tile);
    let part = p.part;
    let first_row4 = tile - p.begin;
    let lane = local % LANES_OF_SUBGROUP;
    let subgroup = local / LANES_OF_SUBGROUP;
    let slice = subgroup / (ROWS * COLUMNS);
    let x_at = subgroup / COLUMNS % ROWS * DOWN * FRAGMENT_ROWS * LINE + slice * STEPS * FRAGMENT_DEPTH;
    let w_at = W_AT + subgroup % COLUMNS * ACROSS * FRAGMENT_COLUMNS * LINE + slice * STEPS * FRAGMENT_DEPTH;

    // A thread's items are single variables, because arrays may end up in memory.
    let x_first = place_of_x(args, t0, local);
    const x_apart = ROWS_APART * LENGTH / (1u + X_HALVES);
//!for i X_EACH
    var xp#i = x_first + #iu * x_apart;
    if (WHOLE_ROWS == 0u || !EVEN) { xp#i = place_of_x(args, t0, local + #iu * THREADS); }
    var x#i = activations[xp#i];
//!for _ X_WIDE
    var xx#i = activations[xp#i + 1u];
//!end
//!end
    let w_first = place_of_w(args, part, first_row4, chunks, local);
    var w_apart = ROWS_APART * chunks * 4u;
    if (GATES == 1u || (ROPE == 1u && part_arg(args, part, PART_FORM) == FORM_ROPE_HALF)) { w_apart /= 2u; }
//!for i W_PAIRS
    var wp#i = w_first + #iu * w_apart;
    if (W_LINEAR == 0u || !EVEN) {
        wp#i = place_of_w(args, part, first_row4, chunks, local + #iu * THREADS);
    }
    var w#i = weight_words[wp#i];
//!for _ W_WIDE
    var ww#i = weight_words[wp#i + 1u];
//!end
//!end
//!for i W_EACH
    let wn#i = min(local + #iu * THREADS, CHUNKS - 1u);
    let wp#i = place_of_row(args, part, first_row4, chunks, wn#i / (DEPTH / 32u));
    let wc#i = wp#i.chunk + wn#i % (DEPTH / 32u);
    var w#i = fetch(wp#i.m, wc#i);
//!end
//!for i DOWN
//!for j PIECES
//!for a AT_ONCE
    var sum#i_#j_#a = fragment_sum();
//!end
//!end
//!end
    for (var k0 = 0u; k0 < LENGTH; k0 += DEPTH) {
//!for i X_EACH
//!for _ X_WIDE
        put_x(line_place(local, #iu), x#i, xx#i);
//!end
//!for _ X_HALVES
        put_x(line_place(local, #iu), x#i, 0u);
//!end
//!end
//!for i W_PAIRS
//!for _ W_WIDE
        put_w_pair(W_AT + line_place(local, #iu), w#i, ww#i);
//!end
//!for _ W_NARROW
        put_w_pair(W_AT + line_place(local, #iu), w#i, 0u);
//!end
//!end
//!for i W_EACH
        put_w_chunk(local + #iu * THREADS, w#i);
//!end
        workgroupBarrier();
        let next = k0 + DEPTH;
        if (next < LENGTH) {
//!for i X_EACH
//!for _ X_WIDE
            x#i = activations[xp#i + next];
            xx#i = activations[xp#i + next + 1u];
//!end
//!for _ X_HALVES
            x#i = activations[xp#i + next / 2u];
//!end
//!end
//!for i W_PAIRS
//!for _ W_WIDE
            w#i = weight_words[wp#i + next];
            ww#i = weight_words[wp#i + next + 1u];
//!end
//!for _ W_NARROW
            w#i = weight_words[wp#i + next / 2u];
//!end
//!end
//!for i W_EACH
            w#i = fetch(wp#i.m, wc#i + next / 32u);
//!end
        }
//!for s STEPS
//!for i DOWN
        let fx#s_#i = fragment_of_x(x_at + #iu * FRAGMENT_ROWS * LINE + #su * FRAGMENT_DEPTH);
//!end
//!for j PIECES
//!for a AT_ONCE
        let fw#s_#j_#a = fragment_of_w(w_at + (#ju * AT_ONCE + #au) * FRAGMENT_COLUMNS * LINE + #su * FRAGMENT_DEPTH);
//!for i DOWN
        sum#i_#j_#a = multiply(fx#s_#i, fw#s_#j_#a, sum#i_#j_#a, lane);
//!end
//!end
//!end
//!end
        workgroupBarrier();
    }
    // The epilogue's code stands here once for ENDS row4s, and runs in a loop: written out for all sums it would be
    // many times as long as the loop over k, run once, and wait for instructions.
    for (var round = 0u; round < ROUNDS + (arguments[0].x >> 31u); round++) { // a compiler must not know the bound
        let down_by = round / PIECES;
        let piece = round % PIECES;
        let area = round % SUM_BUFFERS * SUBGROUPS;
//!for e ENDS
        let end#e = prepare_end(args, part, first_row4 + piece * (SUM_COLUMNS / 4u), chunks,
            t0 + down_by * FRAGMENT_ROWS, local + #eu * THREADS);
//!end
        switch (round) {
//!for i DOWN
//!for j PIECES
            case #iu * PIECES + #ju: {
//!for a AT_ONCE
                put_sum((area + subgroup) * AREA + #au * FRAGMENT_COLUMNS, sum#i_#j_#a, lane);
//!end
            }
//!end
//!end
            default: {}
        }
        workgroupBarrier();
//!for e ENDS
        finish_end(args, part, end#e, area);
//!end
        if (SUM_BUFFERS == 1u) { workgroupBarrier(); }
    }
}
