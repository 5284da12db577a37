// Attention for many rows by matrix units: a subgroup has FRAGMENT_ROWS rows of one head, and all subgroups of a
// workgroup go over the positions that they see together, SPLITS times BLOCK at a time: SPLITS subgroups have the same
// rows, and a block each, so that a GPU with few heads has enough to do. Fragments cannot be scaled row by row, so
// there are two passes: the first finds the highest score of each row, the second adds up the values. Keys and values
// are f16; sums are f32.
//!wgsl-only
override THREADS = 128u;
override SIZE = 64u; // elements of a head: a multiple of FRAGMENT_DEPTH and FRAGMENT_COLUMNS
override STEPS = 4u; // fragments along a head
override ACROSS = 4u; // the same for values
override BLOCK_FRAGMENTS = 4u; // fragments along a block, in both directions
override SPLITS = 1u; // subgroups with the same rows
override EACH = 16u; // pairs of keys, or of values, that a thread brings at a time
override FRAGMENT_ROWS = 16u;
override FRAGMENT_COLUMNS = 16u;
override FRAGMENT_DEPTH = 16u;
override CAPPED = 1u; // 0: scores have no soft cap
override HALVES = 0u; // 1: the result goes to activations as f16
//!include "graph.wgsl"
//!include "matrix_UNITS.wgsl"

const LANES_OF_SUBGROUP = 32u;
const SUBGROUPS = THREADS / LANES_OF_SUBGROUP;
const ROW_GROUPS = SUBGROUPS / SPLITS;
const ROWS = ROW_GROUPS * FRAGMENT_ROWS;
const BLOCK = BLOCK_FRAGMENTS * FRAGMENT_COLUMNS;
const BLOCKS = SPLITS * BLOCK; // positions at a time
const LINE = SIZE + 8u;
const PAIRS = SIZE / 2u;
const KEYS_AT = ROWS * LINE; // behind the rows of q
const VALUES_AT = KEYS_AT + BLOCKS * LINE;
const END = VALUES_AT + BLOCKS * LINE;
const WEIGHTS_AT = IN_TILE * END; // of values: where q was, which is in registers then
const SUM_LINE = BLOCK + 4u;
const AREA = FRAGMENT_ROWS * SUM_LINE; // of a subgroup
const LANES_OF_ROW = LANES_OF_SUBGROUP / FRAGMENT_ROWS; // that share the softmax of a row
const SHARE = BLOCK / LANES_OF_ROW;
const LOWEST = -3.4e38;
var<workgroup> tile: array<number, END + IN_TILE * ROWS * LINE>;
var<workgroup> sums: array<f32, SUBGROUPS * AREA>;
var<workgroup> shared_by_row: array<f32, THREADS>;
var<workgroup> position_of_row: u32;

fn put_pair(at: u32, halves: u32) {
    let y = numbers_of(halves);
    tile[at] = y.x;
    tile[at + 1u] = y.y;
}

// The word of pair n of the keys or values from position `block` on.
fn place_of(args: u32, base: u32, block: u32, kv_head: u32, n: u32) -> u32 {
    let p = min(block + n / PAIRS, arg(args, ATTENTION_CAPACITY) - 1u);
    return base + (p * arg(args, ATTENTION_KV_HEADS) + kv_head) * PAIRS + n % PAIRS;
}

fn capped(args: u32, score: f32) -> f32 {
    if (CAPPED == 0u) { return score; }
    let cap = arg_float(args, ATTENTION_SOFTCAP);
    return cap * tanh(clamp(score / cap, -15.0, 15.0));
}

// Where the i-th of the threads that share a thread's row has put its value.
fn place_of_share(local: u32, i: u32) -> u32 {
    return i / LANES_OF_ROW * (THREADS / SPLITS) + local % (THREADS / SPLITS) / LANES_OF_ROW * LANES_OF_ROW +
        i % LANES_OF_ROW;
}

fn body(args: u32, v: u32, local: u32) {
    let rows = arg(args, ATTENTION_ROWS);
    let heads = arg(args, ATTENTION_HEADS);
    let head = v % heads;
    let kv_head = head / (heads / arg(args, ATTENTION_KV_HEADS));
    let t0 = ((rows + ROWS - 1u) / ROWS - 1u - v / heads) * ROWS; // the rows that see most positions come first
    let keys = arg(args, ATTENTION_KEYS);
    let values = arg(args, ATTENTION_VALUES);
    let lane = local % LANES_OF_SUBGROUP;
    let subgroup = local / LANES_OF_SUBGROUP;
    let row_group = subgroup % ROW_GROUPS;
    let split = subgroup / ROW_GROUPS * BLOCK; // its block, from the first of BLOCKS on
    if (local == 0u) { position_of_row = load_word(arg(args, ATTENTION_POSITION)); }
    for (var n = local; n < ROWS * PAIRS; n += THREADS) {
        let at = arg(args, ARG_X) + (min(t0 + n / PAIRS, rows - 1u) * heads + head) * SIZE + n % PAIRS * 2u;
        put_pair(n / PAIRS * LINE + n % PAIRS * 2u,
            halves_of(vec2<f32>(load(at), load(at + 1u)) * arg_float(args, ATTENTION_SCALE)));
    }
    let position = workgroupUniformLoad(&position_of_row); // also a barrier
    // A position beyond the cache must not lead out of it.
    let bound = arg(args, ATTENTION_CAPACITY) - 1u;
    let window = select(bound + 1u, arg(args, ATTENTION_WINDOW), arg(args, ATTENTION_WINDOW) > 0u);
    let end = min(position + min(t0 + ROWS, rows) - 1u, bound); // the last position that any of these rows sees
    let first_last = min(position + t0, bound);
    let begin = select(0u, first_last + 1u - window, first_last + 1u > window) / BLOCKS * BLOCKS;
//!for s STEPS
    let q#s = fragment_of_x(row_group * FRAGMENT_ROWS * LINE + #su * FRAGMENT_DEPTH);
//!end
    let row = lane / LANES_OF_ROW;
    let mine = lane % LANES_OF_ROW;
    let scores_at = subgroup * AREA + row * SUM_LINE + mine * SHARE;
    let last = min(position + t0 + row_group * FRAGMENT_ROWS + row, bound);

    var sink = LOWEST;
    if (arg(args, ATTENTION_SINKS) > 0u) { sink = load(arg(args, ATTENTION_SINKS) - 1u + head); }
    var most = sink;
//!for i EACH
    var k#i = state_word(place_of(args, keys, begin, kv_head, local + #iu * THREADS));
//!end
    for (var block = begin; block <= end; block += BLOCKS) {
//!for i EACH
        put_pair(KEYS_AT + (local + #iu * THREADS) / PAIRS * LINE + (local + #iu * THREADS) % PAIRS * 2u, k#i);
        k#i = state_word(place_of(args, keys, select(begin, block + BLOCKS, block + BLOCKS <= end), kv_head,
            local + #iu * THREADS));
//!end
        workgroupBarrier();
//!for j BLOCK_FRAGMENTS
        var s#j = fragment_sum();
//!for s STEPS
        s#j = multiply(q#s, fragment_of_w(KEYS_AT + (split + #ju * FRAGMENT_COLUMNS) * LINE + #su * FRAGMENT_DEPTH),
            s#j, lane);
//!end
        put_sum(subgroup * AREA + #ju * FRAGMENT_COLUMNS, s#j, lane);
//!end
        workgroupBarrier();
        for (var i = 0u; i < SHARE; i++) {
            let p = block + split + mine * SHARE + i;
            most = max(most, select(LOWEST, capped(args, sums[scores_at + i]), p <= last && p + window > last));
        }
    }
    shared_by_row[local] = most;
    workgroupBarrier();
    for (var i = 0u; i < SPLITS * LANES_OF_ROW; i++) { most = max(most, shared_by_row[place_of_share(local, i)]); }
    workgroupBarrier();

    var total = 0.0;
//!for j ACROSS
    var o#j = fragment_sum();
//!end
//!for i EACH
    var v#i = state_word(place_of(args, values, begin, kv_head, local + #iu * THREADS));
//!end
    for (var block = begin; block <= end; block += BLOCKS) {
//!for i EACH
        put_pair(KEYS_AT + (local + #iu * THREADS) / PAIRS * LINE + (local + #iu * THREADS) % PAIRS * 2u, k#i);
        put_pair(VALUES_AT + (local + #iu * THREADS) / PAIRS * LINE + (local + #iu * THREADS) % PAIRS * 2u, v#i);
        k#i = state_word(place_of(args, keys, block + BLOCKS, kv_head, local + #iu * THREADS));
        v#i = state_word(place_of(args, values, block + BLOCKS, kv_head, local + #iu * THREADS));
//!end
        workgroupBarrier();
//!for j BLOCK_FRAGMENTS
        var s#j = fragment_sum();
//!for s STEPS
        s#j = multiply(q#s, fragment_of_w(KEYS_AT + (split + #ju * FRAGMENT_COLUMNS) * LINE + #su * FRAGMENT_DEPTH),
            s#j, lane);
//!end
        put_sum(subgroup * AREA + #ju * FRAGMENT_COLUMNS, s#j, lane);
//!end
        workgroupBarrier();
        for (var i = 0u; i < SHARE; i += 2u) {
            let p = block + split + mine * SHARE + i;
            let score = vec2<f32>(capped(args, sums[scores_at + i]), capped(args, sums[scores_at + i + 1u]));
            let two = vec2<u32>(p, p + 1u);
            let seen = (two <= vec2<u32>(last)) & (two + window > vec2<u32>(last));
            let e = select(vec2<f32>(), exp(score - most), seen);
            put_pair(WEIGHTS_AT + (row_group * FRAGMENT_ROWS + row) * LINE + split + mine * SHARE + i,
                pack2x16float(e));
            total += e.x + e.y;
        }
        workgroupBarrier();
//!for b BLOCK_FRAGMENTS
        let p#b = fragment_of_x(WEIGHTS_AT + row_group * FRAGMENT_ROWS * LINE + split + #bu * FRAGMENT_DEPTH);
//!for j ACROSS
        o#j = multiply(p#b, fragment_of_lines(VALUES_AT + (split + #bu * FRAGMENT_DEPTH) * LINE +
            #ju * FRAGMENT_COLUMNS), o#j, lane);
//!end
//!end
        workgroupBarrier();
    }
    shared_by_row[local] = total;
    workgroupBarrier();
    total = select(0.0, exp(sink - most), arg(args, ATTENTION_SINKS) > 0u);
    for (var i = 0u; i < SPLITS * LANES_OF_ROW; i++) { total += shared_by_row[place_of_share(local, i)]; }
    let t = t0 + row_group * FRAGMENT_ROWS + row;
    let to = (t * heads + head) * SIZE;
//!for j ACROSS
    put_sum(subgroup * AREA + #ju % BLOCK_FRAGMENTS * FRAGMENT_COLUMNS, o#j, lane);
    if (#ju % BLOCK_FRAGMENTS == BLOCK_FRAGMENTS - 1u || #ju == ACROSS - 1u) {
        workgroupBarrier();
        let first = #ju / BLOCK_FRAGMENTS * BLOCK;
        if (t < rows) {
            for (var i = 2u * (mine + subgroup / ROW_GROUPS * LANES_OF_ROW); i < min(BLOCK, SIZE - first);
                i += 2u * SPLITS * LANES_OF_ROW) {
                var y = vec2<f32>();
                for (var s = 0u; s < SPLITS; s++) {
                    let at = (s * ROW_GROUPS + row_group) * AREA + row * SUM_LINE + i;
                    y += vec2<f32>(sums[at], sums[at + 1u]);
                }
                y /= total;
                if (HALVES == 1u) {
                    store_word(arg(args, ARG_OUT) + (to + first + i) / 2u, halves_to_store(y));
                } else {
                    store(arg(args, ARG_OUT) + to + first + i, y.x);
                    store(arg(args, ARG_OUT) + to + first + i + 1u, y.y);
                }
            }
        }
        workgroupBarrier();
    }
//!end
}
