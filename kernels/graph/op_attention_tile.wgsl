// Attention for many rows: ROWS rows of one head go over the positions that they see together, BLOCK at a time, so that
// every key and value that is read serves all of them. In one pass, as op_attention.wgsl; it is never split.
override SIZE = 64u; // elements of a head: a multiple of 4, up to 128
override ROWS = 32u; // or 16
override THREADS = 256u;
override HALVES = 0u; // 1: the result goes to activations as f16
//!include "graph.wgsl"
//!include "cache.wgsl"

const BLOCK = 64u;
const HEAD_VEC4S = SIZE / 4u;
const LINE = HEAD_VEC4S + 1u - HEAD_VEC4S % 2u; // an odd number, so that neighbouring rows use different banks
const SCORE_VEC4S = BLOCK / 4u;
const ACROSS = 16u; // columns of threads: four positions each, or four elements of a head
const DOWN = THREADS / ACROSS; // rows of threads: two or four rows of q each
const ROW_THREADS = THREADS / ROWS; // threads that share the softmax of a row
const LOWEST = -3.4e38;
var<workgroup> q: array<array<vec4<f32>, LINE>, ROWS>;
var<workgroup> kv: array<array<vec4<f32>, LINE>, BLOCK>; // keys, then values; see line_of
var<workgroup> scores: array<array<vec4<f32>, SCORE_VEC4S + 1u>, ROWS>;
var<workgroup> highest: array<f32, THREADS>;
var<workgroup> rescales: array<f32, ROWS>;
var<workgroup> position_of_row: u32;

// Elements 4i to 4i+3 of the head that begins at element `at` of the keys or values, which begin at word `base`.
fn vec4_at(args: u32, base: u32, at: u32, i: u32) -> vec4<f32> {
    if (arg(args, ATTENTION_CACHE) >= CACHE_Q8_0) {
        return vec4<f32>(cache_pair(arg(args, ATTENTION_CACHE), base, at + 4u * i),
            cache_pair(arg(args, ATTENTION_CACHE), base, at + 4u * i + 2u));
    }
    if (arg(args, ATTENTION_CACHE) == CACHE_F16) {
        let w = base + at / 2u + 2u * i;
        return vec4<f32>(unpack2x16float(state_word(w)), unpack2x16float(state_word(w + 1u)));
    }
    let w = base + at + 4u * i;
    return bitcast<vec4<f32>>(vec4<u32>(state_word(w), state_word(w + 1u), state_word(w + 2u), state_word(w + 3u)));
}

// The line of position p of a block: a thread has four consecutive positions, and neighbours read neighbouring lines.
fn line_of(p: u32) -> u32 { return p % 4u * ACROSS + p / 4u; }

fn read_block(args: u32, base: u32, first: u32, head: u32, local: u32) {
    for (var i = local; i < BLOCK * HEAD_VEC4S; i += THREADS) {
        let p = min(first + i / HEAD_VEC4S, arg(args, ATTENTION_CAPACITY) - 1u);
        kv[line_of(i / HEAD_VEC4S)][i % HEAD_VEC4S] =
            vec4_at(args, base, p * arg(args, ATTENTION_KV_HEADS) * SIZE + head * SIZE, i % HEAD_VEC4S);
    }
}

// sums + w * x: each column of w times an element of x
fn add_vec4(sums: vec4<f32>, w: mat4x4<f32>, x: vec4<f32>) -> vec4<f32> {
    return fma(vec4<f32>(x.w), w[3], fma(vec4<f32>(x.z), w[2],
        fma(vec4<f32>(x.y), w[1], fma(vec4<f32>(x.x), w[0], sums))));
}

fn capped(args: u32, score: vec4<f32>) -> vec4<f32> {
    let cap = arg_float(args, ATTENTION_SOFTCAP);
    if (cap > 0.0) { return cap * tanh(clamp(score / cap, vec4<f32>(-15.0), vec4<f32>(15.0))); }
    return score;
}

// Stores the scores of a row that sees `window` positions up to `last`; p are the thread's four positions.
fn put_scores(args: u32, y: vec4<f32>, row: u32, across: u32, p: vec4<u32>, last: u32, window: u32) {
    scores[row][across] = select(vec4<f32>(LOWEST), capped(args, y),
        (p <= vec4<u32>(last)) & (p + window > vec4<u32>(last)));
}

// Stores elements 4 `four` to 4 `four` + 3 of row t, which is row `row` of the tile.
fn put_row(args: u32, t: u32, head: u32, four: u32, y: vec4<f32>, row: u32) {
    if (t >= arg(args, ATTENTION_ROWS) || four >= HEAD_VEC4S) { return; }
    var total = 0.0;
    for (var i = 0u; i < ROW_THREADS; i++) { total += highest[row * ROW_THREADS + i]; }
    let element = (t * arg(args, ATTENTION_HEADS) + head) * SIZE + four * 4u;
    if (HALVES == 1u) {
        store_word(arg(args, ARG_OUT) + element / 2u, halves_to_store(y.xy / total));
        store_word(arg(args, ARG_OUT) + element / 2u + 1u, halves_to_store(y.zw / total));
        return;
    }
    let at = arg(args, ARG_OUT) + element;
    store(at, y.x / total);
    store(at + 1u, y.y / total);
    store(at + 2u, y.z / total);
    store(at + 3u, y.w / total);
}

fn body(args: u32, v: u32, local: u32) {
    let rows = arg(args, ATTENTION_ROWS);
    let heads = arg(args, ATTENTION_HEADS);
    let head = v % heads;
    let kv_head = head / (heads / arg(args, ATTENTION_KV_HEADS));
    let t0 = ((rows + ROWS - 1u) / ROWS - 1u - v / heads) * ROWS; // the rows that see most positions come first
    if (local == 0u) { position_of_row = load_word(arg(args, ATTENTION_POSITION)); }
    for (var i = local; i < ROWS * HEAD_VEC4S; i += THREADS) {
        let at = arg(args, ARG_X) + (min(t0 + i / HEAD_VEC4S, rows - 1u) * heads + head) * SIZE + i % HEAD_VEC4S * 4u;
        q[i / HEAD_VEC4S][i % HEAD_VEC4S] = vec4<f32>(load(at), load(at + 1u), load(at + 2u), load(at + 3u)) *
            arg_float(args, ATTENTION_SCALE);
    }
    let position = workgroupUniformLoad(&position_of_row); // also a barrier
    // A position beyond the cache must not lead out of it.
    let bound = arg(args, ATTENTION_CAPACITY) - 1u;
    let window = select(bound + 1u, arg(args, ATTENTION_WINDOW), arg(args, ATTENTION_WINDOW) > 0u);
    let end = min(position + min(t0 + ROWS, rows) - 1u, bound); // the last position that any of these rows sees
    let first_last = min(position + t0, bound);
    let begin = select(0u, first_last + 1u - window, first_last + 1u > window) / BLOCK * BLOCK;

    // Four neighbouring threads form a square: two of them read the same line, so that workgroup memory serves twice as
    // many.
    let across = local / 4u % (ACROSS / 2u) * 2u + local % 2u;
    // the rows for scores and values: down, down + DOWN, ...
    let down = local / 4u / (ACROSS / 2u) * 2u + local / 2u % 2u;
    let row = local / ROW_THREADS; // the row for the softmax,
    let mine = local % ROW_THREADS; // of which it has every ROW_THREADS-th vector of scores
    let value = min(across, HEAD_VEC4S - 1u);
    let more = min(across + ACROSS, HEAD_VEC4S - 1u);
    var most = LOWEST;
    var total = 0.0;
    if (arg(args, ATTENTION_SINKS) > 0u) {
        most = load(arg(args, ATTENTION_SINKS) - 1u + head);
        total = select(0.0, 1.0, mine == 0u);
    }
    // Sums of values: a vector for each of its rows, elements 4 across to 4 across + 3, and in b those 64 behind.
    var a0 = vec4<f32>();
    var a1 = vec4<f32>();
    var a2 = vec4<f32>();
    var a3 = vec4<f32>();
    var b0 = vec4<f32>();
    var b1 = vec4<f32>();
    var b2 = vec4<f32>();
    var b3 = vec4<f32>();
    for (var block = begin; block <= end; block += BLOCK) {
        read_block(args, arg(args, ATTENTION_KEYS), block, kv_head, local);
        workgroupBarrier();
        var s0 = vec4<f32>();
        var s1 = vec4<f32>();
        var s2 = vec4<f32>();
        var s3 = vec4<f32>();
        for (var i = 0u; i < HEAD_VEC4S; i++) {
            let k = transpose(mat4x4<f32>(kv[across][i], kv[across + ACROSS][i], kv[across + 2u * ACROSS][i],
                kv[across + 3u * ACROSS][i]));
            s0 = add_vec4(s0, k, q[down][i]);
            s1 = add_vec4(s1, k, q[down + DOWN][i]);
            if (ROWS > 2u * DOWN) {
                s2 = add_vec4(s2, k, q[down + ROWS - 2u * DOWN][i]);
                s3 = add_vec4(s3, k, q[down + ROWS - DOWN][i]);
            }
        }
        let p = vec4<u32>(0u, 1u, 2u, 3u) + block + 4u * across;
        let last = position + t0 + down;
        put_scores(args, s0, down, across, p, min(last, bound), window);
        put_scores(args, s1, down + DOWN, across, p, min(last + DOWN, bound), window);
        if (ROWS > 2u * DOWN) {
            put_scores(args, s2, down + 2u * DOWN, across, p, min(last + 2u * DOWN, bound), window);
            put_scores(args, s3, down + 3u * DOWN, across, p, min(last + 3u * DOWN, bound), window);
        }
        workgroupBarrier();
        read_block(args, arg(args, ATTENTION_VALUES), block, kv_head, local);
        var high4 = vec4<f32>(LOWEST);
        for (var i = mine; i < SCORE_VEC4S; i += ROW_THREADS) { high4 = max(high4, scores[row][i]); }
        highest[local] = max(max(high4.x, high4.y), max(high4.z, high4.w));
        workgroupBarrier();
        var high = most;
        for (var i = 0u; i < ROW_THREADS; i++) { high = max(high, highest[row * ROW_THREADS + i]); }
        let rescale = exp(most - high);
        most = high;
        var sum4 = vec4<f32>();
        for (var i = mine; i < SCORE_VEC4S; i += ROW_THREADS) {
            let score = scores[row][i];
            let e = select(vec4<f32>(), exp(score - high), score > vec4<f32>(LOWEST));
            scores[row][i] = e;
            sum4 += e;
        }
        total = total * rescale + (sum4.x + sum4.y) + (sum4.z + sum4.w);
        if (mine == 0u) { rescales[row] = rescale; }
        workgroupBarrier();
        a0 *= rescales[down];
        a1 *= rescales[down + DOWN];
        b0 *= rescales[down];
        b1 *= rescales[down + DOWN];
        if (ROWS > 2u * DOWN) {
            a2 *= rescales[down + ROWS - 2u * DOWN];
            a3 *= rescales[down + ROWS - DOWN];
            b2 *= rescales[down + ROWS - 2u * DOWN];
            b3 *= rescales[down + ROWS - DOWN];
        }
        for (var i = 0u; i < SCORE_VEC4S; i++) {
            let y0 = scores[down][i];
            let y1 = scores[down + DOWN][i];
            let w = mat4x4<f32>(kv[i][value], kv[i + ACROSS][value], kv[i + 2u * ACROSS][value],
                kv[i + 3u * ACROSS][value]);
            a0 = add_vec4(a0, w, y0);
            a1 = add_vec4(a1, w, y1);
            if (ROWS > 2u * DOWN) {
                a2 = add_vec4(a2, w, scores[down + ROWS - 2u * DOWN][i]);
                a3 = add_vec4(a3, w, scores[down + ROWS - DOWN][i]);
            }
            if (SIZE > 64u) {
                let u = mat4x4<f32>(kv[i][more], kv[i + ACROSS][more], kv[i + 2u * ACROSS][more],
                    kv[i + 3u * ACROSS][more]);
                b0 = add_vec4(b0, u, y0);
                b1 = add_vec4(b1, u, y1);
                if (ROWS > 2u * DOWN) {
                    b2 = add_vec4(b2, u, scores[down + ROWS - 2u * DOWN][i]);
                    b3 = add_vec4(b3, u, scores[down + ROWS - DOWN][i]);
                }
            }
        }
        workgroupBarrier();
    }
    highest[local] = total;
    workgroupBarrier();
    put_row(args, t0 + down, head, across, a0, down);
    put_row(args, t0 + down + DOWN, head, across, a1, down + DOWN);
    if (SIZE > 64u) {
        put_row(args, t0 + down, head, across + ACROSS, b0, down);
        put_row(args, t0 + down + DOWN, head, across + ACROSS, b1, down + DOWN);
    }
    if (ROWS > 2u * DOWN) {
        put_row(args, t0 + down + 2u * DOWN, head, across, a2, down + 2u * DOWN);
        put_row(args, t0 + down + 3u * DOWN, head, across, a3, down + 3u * DOWN);
        if (SIZE > 64u) {
            put_row(args, t0 + down + 2u * DOWN, head, across + ACROSS, b2, down + 2u * DOWN);
            put_row(args, t0 + down + 3u * DOWN, head, across + ACROSS, b3, down + 3u * DOWN);
        }
    }
}
