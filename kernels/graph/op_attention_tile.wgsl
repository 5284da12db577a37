// Attention for many rows: ROWS rows of one head go over the positions they see together, BLOCK at a time, so that every key
// and value that is read serves all of them. As op_attention.wgsl, in one pass: the running maximum and sum are mended as larger
// scores come.
// The arguments of op_attention.wgsl, but 0: workgroups, one for each head of ROWS rows; 14: rows; it is never split.
override SIZE = 64u; // of a head: a multiple of 4, up to 128
override ROWS = 32u; // or 16
override THREADS = 256u;
//!include "graph.wgsl"

const BLOCK = 64u;
const CHUNK_VEC4S = SIZE / 4u;
const LINE = CHUNK_VEC4S + 1u - CHUNK_VEC4S % 2u; // odd, so that neighbours use different banks
const SCORE_FOURS = BLOCK / 4u;
const ACROSS = 16u;                   // threads side by side: four positions each, or four elements of a head
const DOWN = THREADS / ACROSS;        // one above the other: two or four rows each
const LOOKING = THREADS / ROWS;       // threads that look after a row's scores
const LOWEST = -3.4e38;
var<workgroup> q: array<array<vec4<f32>, LINE>, ROWS>;
var<workgroup> kv: array<array<vec4<f32>, LINE>, BLOCK>; // keys, and then values; see line_of
var<workgroup> scores: array<array<vec4<f32>, SCORE_FOURS + 1u>, ROWS>;
var<workgroup> highest: array<f32, THREADS>;
var<workgroup> mends: array<f32, ROWS>;
var<workgroup> position_of_row: u32;

// Elements 4i to 4i+3 of the head that begins at element `at` of the state at word `prefetch`.
fn four_at(args: u32, prefetch: u32, at: u32, i: u32) -> vec4<f32> {
    if (arg(args, ATTENTION_F16) == 1u) {
        let w = prefetch + at / 2u + 2u * i;
        return vec4<f32>(unpack2x16float(state_word(w)), unpack2x16float(state_word(w + 1u)));
    }
    let w = prefetch + at + 4u * i;
    return bitcast<vec4<f32>>(vec4<u32>(state_word(w), state_word(w + 1u), state_word(w + 2u), state_word(w + 3u)));
}

// Where position p of a block lies: a thread has four that follow each other, and neighbours shall read neighbouring lines.
fn line_of(p: u32) -> u32 { return p % 4u * ACROSS + p / 4u; }

fn read_block(args: u32, prefetch: u32, first: u32, head: u32, local: u32) {
    for (var i = local; i < BLOCK * CHUNK_VEC4S; i += THREADS) {
        let p = min(first + i / CHUNK_VEC4S, arg(args, ATTENTION_CAPACITY) - 1u);
        kv[line_of(i / CHUNK_VEC4S)][i % CHUNK_VEC4S] = four_at(args, prefetch, p * arg(args, ATTENTION_KV_HEADS) * SIZE + head * SIZE, i % CHUNK_VEC4S);
    }
}

// sums + the columns of w times the elements of x
fn add_four(sums: vec4<f32>, w: mat4x4<f32>, x: vec4<f32>) -> vec4<f32> {
    return fma(vec4<f32>(x.w), w[3], fma(vec4<f32>(x.z), w[2], fma(vec4<f32>(x.y), w[1], fma(vec4<f32>(x.x), w[0], sums))));
}

fn capped(args: u32, score: vec4<f32>) -> vec4<f32> {
    let cap = arg_float(args, ATTENTION_SOFTCAP);
    if (cap > 0.0) { return cap * tanh(clamp(score / cap, vec4<f32>(-15.0), vec4<f32>(15.0))); }
    return score;
}

// The scores of a row that sees the positions up to `last`, `window` of them; p are the thread's own.
fn put_scores(args: u32, y: vec4<f32>, row: u32, shuffle_xor: u32, p: vec4<u32>, last: u32, window: u32) {
    scores[row][shuffle_xor] = select(vec4<f32>(LOWEST), capped(args, y), (p <= vec4<u32>(last)) & (p + window > vec4<u32>(last)));
}

fn put_row(args: u32, t: u32, head: u32, four: u32, y: vec4<f32>, row: u32) {
    if (t >= arg(args, ATTENTION_ROWS) || four >= CHUNK_VEC4S) { return; }
    var total = 0.0;
    for (var i = 0u; i < LOOKING; i++) { total += highest[row * LOOKING + i]; }
    let at = arg(args, ARG_OUT) + (t * arg(args, ATTENTION_HEADS) + head) * SIZE + four * 4u;
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
    let t0 = ((rows + ROWS - 1u) / ROWS - 1u - v / heads) * ROWS; // those who have most to do come first
    if (local == 0u) { position_of_row = load_word(arg(args, ATTENTION_POSITION)); }
    for (var i = local; i < ROWS * CHUNK_VEC4S; i += THREADS) {
        let at = arg(args, ARG_X) + (min(t0 + i / CHUNK_VEC4S, rows - 1u) * heads + head) * SIZE + i % CHUNK_VEC4S * 4u;
        q[i / CHUNK_VEC4S][i % CHUNK_VEC4S] = vec4<f32>(load(at), load(at + 1u), load(at + 2u), load(at + 3u)) * arg_float(args, ATTENTION_SCALE);
    }
    let position = workgroupUniformLoad(&position_of_row); // a barrier, too
    // arg(13) bounds it: a position beyond the cache must not lead out of it.
    let bound = arg(args, ATTENTION_CAPACITY) - 1u;
    let window = select(bound + 1u, arg(args, ATTENTION_WINDOW), arg(args, ATTENTION_WINDOW) > 0u);
    let end = min(position + min(t0 + ROWS, rows) - 1u, bound); // the last that any of these rows sees
    let first_last = min(position + t0, bound);
    let prefetch = select(0u, first_last + 1u - window, first_last + 1u > window) / BLOCK * BLOCK;

    // Four neighbours are a square: pairs that read the same let workgroup memory answer twice as many at a time.
    let shuffle_xor = local / 4u % (ACROSS / 2u) * 2u + local % 2u;
    let down = local / 4u / (ACROSS / 2u) * 2u + local / 2u % 2u; // this thread's rows are down, down + DOWN, ...
    let row = local / LOOKING;   // and this is the row whose scores it spins after
    let mine = local % LOOKING;  // with every LOOKING-th four of them
    let value = min(shuffle_xor, CHUNK_VEC4S - 1u);
    let more = min(shuffle_xor + ACROSS, CHUNK_VEC4S - 1u);
    var most = LOWEST;
    var total = 0.0;
    // Sums of values: a vector for each of the rows, elements 4 shuffle_xor to 4 shuffle_xor + 3, and in b those 64 shuffle_down.
    var a0 = vec4<f32>();
    var a1 = vec4<f32>();
    var a2 = vec4<f32>();
    var a3 = vec4<f32>();
    var b0 = vec4<f32>();
    var b1 = vec4<f32>();
    var b2 = vec4<f32>();
    var b3 = vec4<f32>();
    for (var block = prefetch; block <= end; block += BLOCK) {
        read_block(args, arg(args, ATTENTION_KEYS), block, kv_head, local);
        workgroupBarrier();
        var s0 = vec4<f32>();
        var s1 = vec4<f32>();
        var s2 = vec4<f32>();
        var s3 = vec4<f32>();
        for (var i = 0u; i < CHUNK_VEC4S; i++) {
            let k = transpose(mat4x4<f32>(kv[shuffle_xor][i], kv[shuffle_xor + ACROSS][i], kv[shuffle_xor + 2u * ACROSS][i], kv[shuffle_xor + 3u * ACROSS][i]));
            s0 = add_four(s0, k, q[down][i]);
            s1 = add_four(s1, k, q[down + DOWN][i]);
            if (ROWS > 2u * DOWN) {
                s2 = add_four(s2, k, q[down + ROWS - 2u * DOWN][i]);
                s3 = add_four(s3, k, q[down + ROWS - DOWN][i]);
            }
        }
        let p = vec4<u32>(0u, 1u, 2u, 3u) + block + 4u * shuffle_xor;
        let last = position + t0 + down;
        put_scores(args, s0, down, shuffle_xor, p, min(last, bound), window);
        put_scores(args, s1, down + DOWN, shuffle_xor, p, min(last + DOWN, bound), window);
        if (ROWS > 2u * DOWN) {
            put_scores(args, s2, down + 2u * DOWN, shuffle_xor, p, min(last + 2u * DOWN, bound), window);
            put_scores(args, s3, down + 3u * DOWN, shuffle_xor, p, min(last + 3u * DOWN, bound), window);
        }
        workgroupBarrier();
        read_block(args, arg(args, ATTENTION_VALUES), block, kv_head, local);
        var high4 = vec4<f32>(LOWEST);
        for (var i = mine; i < SCORE_FOURS; i += LOOKING) { high4 = max(high4, scores[row][i]); }
        highest[local] = max(max(high4.x, high4.y), max(high4.z, high4.w));
        workgroupBarrier();
        var high = most;
        for (var i = 0u; i < LOOKING; i++) { high = max(high, highest[row * LOOKING + i]); }
        let mend = exp(most - high);
        most = high;
        var sum4 = vec4<f32>();
        for (var i = mine; i < SCORE_FOURS; i += LOOKING) {
            let score = scores[row][i];
            let e = select(vec4<f32>(), exp(score - high), score > vec4<f32>(LOWEST));
            scores[row][i] = e;
            sum4 += e;
        }
        total = total * mend + (sum4.x + sum4.y) + (sum4.z + sum4.w);
        if (mine == 0u) { mends[row] = mend; }
        workgroupBarrier();
        a0 *= mends[down];
        a1 *= mends[down + DOWN];
        b0 *= mends[down];
        b1 *= mends[down + DOWN];
        if (ROWS > 2u * DOWN) {
            a2 *= mends[down + ROWS - 2u * DOWN];
            a3 *= mends[down + ROWS - DOWN];
            b2 *= mends[down + ROWS - 2u * DOWN];
            b3 *= mends[down + ROWS - DOWN];
        }
        for (var i = 0u; i < SCORE_FOURS; i++) {
            let y0 = scores[down][i];
            let y1 = scores[down + DOWN][i];
            let w = mat4x4<f32>(kv[i][value], kv[i + ACROSS][value], kv[i + 2u * ACROSS][value], kv[i + 3u * ACROSS][value]);
            a0 = add_four(a0, w, y0);
            a1 = add_four(a1, w, y1);
            if (ROWS > 2u * DOWN) {
                a2 = add_four(a2, w, scores[down + ROWS - 2u * DOWN][i]);
                a3 = add_four(a3, w, scores[down + ROWS - DOWN][i]);
            }
            if (SIZE > 64u) {
                let u = mat4x4<f32>(kv[i][more], kv[i + ACROSS][more], kv[i + 2u * ACROSS][more], kv[i + 3u * ACROSS][more]);
                b0 = add_four(b0, u, y0);
                b1 = add_four(b1, u, y1);
                if (ROWS > 2u * DOWN) {
                    b2 = add_four(b2, u, scores[down + ROWS - 2u * DOWN][i]);
                    b3 = add_four(b3, u, scores[down + ROWS - DOWN][i]);
                }
            }
        }
        workgroupBarrier();
    }
    highest[local] = total;
    workgroupBarrier();
    put_row(args, t0 + down, head, shuffle_xor, a0, down);
    put_row(args, t0 + down + DOWN, head, shuffle_xor, a1, down + DOWN);
    if (SIZE > 64u) {
        put_row(args, t0 + down, head, shuffle_xor + ACROSS, b0, down);
        put_row(args, t0 + down + DOWN, head, shuffle_xor + ACROSS, b1, down + DOWN);
    }
    if (ROWS > 2u * DOWN) {
        put_row(args, t0 + down + 2u * DOWN, head, shuffle_xor, a2, down + 2u * DOWN);
        put_row(args, t0 + down + 3u * DOWN, head, shuffle_xor, a3, down + 3u * DOWN);
        if (SIZE > 64u) {
            put_row(args, t0 + down + 2u * DOWN, head, shuffle_xor + ACROSS, b2, down + 2u * DOWN);
            put_row(args, t0 + down + 3u * DOWN, head, shuffle_xor + ACROSS, b3, down + 3u * DOWN);
        }
    }
}
