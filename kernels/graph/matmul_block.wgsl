// Matrix products for many rows of x on GPUs: a thread computes a block of eight rows of x by two row4s, so that a
// number read from workgroup memory serves eight sums. ROWS by COLUMNS threads make a tile. SLICES teams of that many
// threads work on the same tile, each on its share of k, and add up at the end: a matrix with few rows has few tiles,
// and a multiprocessor needs many threads. The next numbers are in flight while the thread works on those in workgroup
// memory. MATMUL_ROW_GROUPS is the number of workgroups for each 8 * ROWS rows of x. x is never normed here.
override THREADS = 128u;
override ROWS = 4u; // even, as COLUMNS
override COLUMNS = 8u;
override SLICES = 4u;
override DEPTH = 32u; // of k at a time
override WHOLE = 0u; // 1: k is a multiple of DEPTH
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "angle.wgsl"
//!include "matmul.wgsl"
//!include "row_place.wgsl"

const TEAM = ROWS * COLUMNS;
const ROW4S = COLUMNS * 2u;
const SHARE = DEPTH / SLICES; // of k, for each slice
const SHARE_VEC4S = SHARE / 4u;
// In workgroup memory a thread reads one line of x and one of weights: the compiler knows all but where they begin. A
// line has an odd length, and slices are some lines apart, so that neighbours use different banks.
//    x        [four rows][k]: a vector is one k of four rows, as the threads that read along k have them
//    weights  [row][four k]: a vector is four k of a row, as they are unpacked
const LINE = 2u * SHARE + 1u;
const APART = select(0u, SHARE_VEC4S, SLICES > 1u);
const X_LINES = (ROWS + APART) * SLICES;
const W_LINES = (COLUMNS + APART) * SLICES;
var<workgroup> tile_x: array<array<vec4<f32>, LINE>, X_LINES>;
var<workgroup> tile_w: array<array<vec4<f32>, LINE>, W_LINES>;

// A thread fetches items for all: an item is one k of four rows of x, or a piece of a row of weights.
const X_ITEMS = ROWS * 2u * DEPTH;
const X_EACH = (X_ITEMS + THREADS - 1u) / THREADS;
const PIECE = min(CHUNK, 8u);
const PIECES = DEPTH / PIECE; // of a row, in a tile
const W_ITEMS = COLUMNS * 8u * PIECES;
const W_EACH = (W_ITEMS + THREADS - 1u) / THREADS;
const_assert THREADS == TEAM * SLICES;
const_assert SLICES == 1u || SLICES >= 4u; // each of the four blocks below has a slice of its own
const_assert X_EACH <= 4u;
const_assert W_EACH <= 4u;
const_assert LINE * (X_LINES + W_LINES) >= (SLICES - 1u) * TEAM * 4u; // sum_of_slices needs it

fn x_item(args: u32, t0: u32, k0: u32, i: u32) -> vec4<f32> {
    let k = arg(args, MATMUL_LENGTH);
    let t = t0 + i / DEPTH * 4u;
    let last = arg(args, MATMUL_X_ROWS) - 1u; // rows beyond are the last again, and are not used
    let at = arg(args, MATMUL_X) + k0 + i % DEPTH;
    let y = vec4<f32>(load(at + min(t, last) * k), load(at + min(t + 1u, last) * k), load(at + min(t + 2u, last) * k),
        load(at + min(t + 3u, last) * k));
    return select(vec4<f32>(), y, WHOLE == 1u || k0 + i % DEPTH < k);
}

fn put_x(i: u32, y: vec4<f32>) {
    let k = i % DEPTH;
    let four_rows = i / DEPTH;
    tile_x[k / SHARE * (ROWS + APART) + four_rows / 2u][four_rows % 2u * SHARE + k % SHARE] = y;
}

fn place_of(args: u32, part: u32, first_row4: u32, chunks: u32, i: u32) -> row_place {
    return place_of_row(args, part, first_row4, chunks, i / PIECES);
}

fn w_item(p: row_place, chunks: u32, k0: u32, i: u32) -> bits_of_chunk {
    var c = (k0 / PIECE + i % PIECES) / (CHUNK / PIECE);
    if (WHOLE == 0u) { c = min(c, chunks - 1u); } // x is 0 there
    return fetch(p.m, p.chunk + c);
}

fn put_w(k0: u32, i: u32, b: bits_of_chunk) {
    let row = i / PIECES;
    let j = (k0 / PIECE + i % PIECES) % (CHUNK / PIECE) * (PIECE / 4u);
    for (var f = 0u; f < PIECE / 4u; f++) {
        let four_k = i % PIECES * (PIECE / 4u) + f;
        tile_w[four_k / SHARE_VEC4S * (COLUMNS + APART) + row / 8u][row % 8u * SHARE_VEC4S + four_k % SHARE_VEC4S] =
            weight_vec4(b, j + f);
    }
}

// sums[j] += x * w[j]: a column for each row of a row4, an element for each of four rows of x.
fn outer(sums: mat4x4<f32>, x: vec4<f32>, w: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(fma(vec4<f32>(w.x), x, sums[0]), fma(vec4<f32>(w.y), x, sums[1]),
                       fma(vec4<f32>(w.z), x, sums[2]), fma(vec4<f32>(w.w), x, sums[3]));
}

// The memory of both tiles, when they are not needed any more, as one array.
fn put_spare(i: u32, y: vec4<f32>) {
    if (i < LINE * X_LINES) {
        tile_x[i / LINE][i % LINE] = y;
    } else {
        tile_w[i / LINE - X_LINES][i % LINE] = y;
    }
}

fn spare(i: u32) -> vec4<f32> {
    if (i < LINE * X_LINES) { return tile_x[i / LINE][i % LINE]; }
    return tile_w[i / LINE - X_LINES][i % LINE];
}

// The sum over all slices of four rows by a row4; only slice `owner` gets it.
fn sum_of_slices(sums: mat4x4<f32>, owner: u32, slice: u32, member: u32) -> mat4x4<f32> {
    workgroupBarrier();
    if (slice != owner) {
        let at = select(slice, slice - 1u, slice > owner) * 4u * TEAM + member;
        put_spare(at, sums[0]);
        put_spare(at + TEAM, sums[1]);
        put_spare(at + 2u * TEAM, sums[2]);
        put_spare(at + 3u * TEAM, sums[3]);
    }
    workgroupBarrier();
    var y = sums;
    if (slice == owner) {
        for (var s = 0u; s + 1u < SLICES; s++) {
            let at = s * 4u * TEAM + member;
            y += mat4x4<f32>(spare(at), spare(at + TEAM), spare(at + 2u * TEAM), spare(at + 3u * TEAM));
        }
    }
    return y;
}

fn block_of(i: u32, a: mat4x4<f32>, b: mat4x4<f32>, c: mat4x4<f32>, d: mat4x4<f32>) -> mat4x4<f32> {
    var y = a;
    if (i == 1u) { y = b; }
    if (i == 2u) { y = c; }
    if (i == 3u) { y = d; }
    return y;
}

fn finish_rows(args: u32, part: u32, rows: mat4x4<f32>, row4: u32, chunks: u32, t: u32) {
    if (row4 >= arg(args, part + PART_ROW4S)) { return; }
    let q = row4_of(args, part, row4, chunks);
    let last = arg(args, MATMUL_X_ROWS) - 1u;
    // All operands are read before anything is written: reads do not overtake writes.
    let r0 = fetch_operands(args, part, q.rows, min(t, last));
    let r1 = fetch_operands(args, part, q.rows, min(t + 1u, last));
    let r2 = fetch_operands(args, part, q.rows, min(t + 2u, last));
    let r3 = fetch_operands(args, part, q.rows, min(t + 3u, last));
    if (t <= last) { finish(args, part, q.first, q.rows, rows[0], t, r0); }
    if (t + 1u <= last) { finish(args, part, q.first, q.rows, rows[1], t + 1u, r1); }
    if (t + 2u <= last) { finish(args, part, q.first, q.rows, rows[2], t + 2u, r2); }
    if (t + 3u <= last) { finish(args, part, q.first, q.rows, rows[3], t + 3u, r3); }
}

fn body(args: u32, v: u32, local: u32) {
    let k = arg(args, MATMUL_LENGTH);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let t0 = v / arg(args, MATMUL_ROW_GROUPS) * ROWS * 8u;
    let p = part_of(args, v % arg(args, MATMUL_ROW_GROUPS) * ROW4S);
    let part = p.part;
    let first_row4 = v % arg(args, MATMUL_ROW_GROUPS) * ROW4S - p.begin;
    // Four neighbouring threads form a square: two of them read the same line, so that workgroup memory serves twice as
    // many.
    let slice = local / TEAM;
    let member = local % TEAM;
    let column = member / 4u % (COLUMNS / 2u) * 2u + member % 2u;
    let row = member / 4u / (COLUMNS / 2u) * 2u + member / 2u % 2u;

    // A thread's items. They are single variables, because arrays may end up in memory.
    let i1 = local + THREADS;
    let i2 = local + 2u * THREADS;
    let i3 = local + 3u * THREADS;
    var x0 = x_item(args, t0, 0u, local);
    var x1: vec4<f32>;
    var x2: vec4<f32>;
    var x3: vec4<f32>;
    if (X_EACH > 1u) { x1 = x_item(args, t0, 0u, i1); }
    if (X_EACH > 2u) { x2 = x_item(args, t0, 0u, i2); }
    if (X_EACH > 3u) { x3 = x_item(args, t0, 0u, i3); }
    let p0 = place_of(args, part, first_row4, chunks, local);
    let p1 = place_of(args, part, first_row4, chunks, i1);
    let p2 = place_of(args, part, first_row4, chunks, i2);
    let p3 = place_of(args, part, first_row4, chunks, i3);
    var w0 = w_item(p0, chunks, 0u, local);
    var w1: bits_of_chunk;
    var w2: bits_of_chunk;
    var w3: bits_of_chunk;
    if (W_EACH > 1u) { w1 = w_item(p1, chunks, 0u, i1); }
    if (W_EACH > 2u) { w2 = w_item(p2, chunks, 0u, i2); }
    if (W_EACH > 3u) { w3 = w_item(p3, chunks, 0u, i3); }

    var a = mat4x4<f32>(); // the first four rows by the first row4
    var b = mat4x4<f32>(); // by the second
    var c = mat4x4<f32>(); // the other four rows
    var d = mat4x4<f32>();
    for (var k0 = 0u; k0 < k; k0 += DEPTH) {
        if (local < X_ITEMS) { put_x(local, x0); }
        if (X_EACH > 1u && i1 < X_ITEMS) { put_x(i1, x1); }
        if (X_EACH > 2u && i2 < X_ITEMS) { put_x(i2, x2); }
        if (X_EACH > 3u && i3 < X_ITEMS) { put_x(i3, x3); }
        if (local < W_ITEMS) { put_w(k0, local, w0); }
        if (W_EACH > 1u && i1 < W_ITEMS) { put_w(k0, i1, w1); }
        if (W_EACH > 2u && i2 < W_ITEMS) { put_w(k0, i2, w2); }
        if (W_EACH > 3u && i3 < W_ITEMS) { put_w(k0, i3, w3); }
        workgroupBarrier();
        let next = k0 + DEPTH;
        if (next < k) {
            x0 = x_item(args, t0, next, local);
            if (X_EACH > 1u) { x1 = x_item(args, t0, next, i1); }
            if (X_EACH > 2u) { x2 = x_item(args, t0, next, i2); }
            if (X_EACH > 3u) { x3 = x_item(args, t0, next, i3); }
            w0 = w_item(p0, chunks, next, local);
            if (W_EACH > 1u) { w1 = w_item(p1, chunks, next, i1); }
            if (W_EACH > 2u) { w2 = w_item(p2, chunks, next, i2); }
            if (W_EACH > 3u) { w3 = w_item(p3, chunks, next, i3); }
        }
        let xl = slice * (ROWS + APART) + row;
        let wl = slice * (COLUMNS + APART) + column;
        for (var f = 0u; f < SHARE_VEC4S; f++) {
            // A column for each of four k, of the first and of the second row4. The order of what follows matters:
            // reading x earlier, and swapping the factors, took a seventh longer on an H200.
            let first = transpose(mat4x4<f32>(tile_w[wl][f], tile_w[wl][SHARE_VEC4S + f],
                tile_w[wl][2u * SHARE_VEC4S + f], tile_w[wl][3u * SHARE_VEC4S + f]));
            let second = transpose(mat4x4<f32>(tile_w[wl][4u * SHARE_VEC4S + f], tile_w[wl][5u * SHARE_VEC4S + f],
                tile_w[wl][6u * SHARE_VEC4S + f], tile_w[wl][7u * SHARE_VEC4S + f]));
            let upper0 = tile_x[xl][4u * f];
            a = outer(a, upper0, first[0]);
            b = outer(b, upper0, second[0]);
            let lower0 = tile_x[xl][SHARE + 4u * f];
            c = outer(c, lower0, first[0]);
            d = outer(d, lower0, second[0]);
            let upper1 = tile_x[xl][4u * f + 1u];
            a = outer(a, upper1, first[1]);
            b = outer(b, upper1, second[1]);
            let lower1 = tile_x[xl][SHARE + 4u * f + 1u];
            c = outer(c, lower1, first[1]);
            d = outer(d, lower1, second[1]);
            let upper2 = tile_x[xl][4u * f + 2u];
            a = outer(a, upper2, first[2]);
            b = outer(b, upper2, second[2]);
            let lower2 = tile_x[xl][SHARE + 4u * f + 2u];
            c = outer(c, lower2, first[2]);
            d = outer(d, lower2, second[2]);
            let upper3 = tile_x[xl][4u * f + 3u];
            a = outer(a, upper3, first[3]);
            b = outer(b, upper3, second[3]);
            let lower3 = tile_x[xl][SHARE + 4u * f + 3u];
            c = outer(c, lower3, first[3]);
            d = outer(d, lower3, second[3]);
        }
        workgroupBarrier();
    }
    // Each slice adds up and finishes the blocks that it owns. A single slice owns all.
    var mine = a;
    for (var i = 0u; SLICES > 1u && i < arg(args, MATMUL_FOUR); i++) {
        let all = sum_of_slices(block_of(i, a, b, c, d), i, slice, member);
        if (slice == i) { mine = all; }
    }
    for (var i = 0u; i < arg(args, MATMUL_FOUR); i++) {
        if (slice != i % SLICES) { continue; }
        if (SLICES == 1u) { mine = block_of(i, a, b, c, d); }
        finish_rows(args, part, transpose(mine), first_row4 + column * 2u + i % 2u, chunks,
            t0 + row * 8u + i / 2u * 4u);
    }
}
