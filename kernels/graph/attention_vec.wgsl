// The same as op_attention for one row of q, or a few, and a state of f16, made for a size of heads and for subgroups:
// what was stored before this run is fetched before q is there (`begin`), and each thread has its words of a whole block
// of positions on their way at once. Arguments as there.
const THREADS = 512u;
const TEAM = 32u;
const STAGED = 2048u;            // as in matmul_vec.wgsl: the same memory
const HEAD = 64u;                // elements of a head
const BEGUN = 0u;                // 1: whoever calls body has called begin
const BLOCK = 64u;               // positions at a time
const LANES = THREADS / BLOCK;   // threads that share a position's score; they are in one subgroup
const PAIRS = HEAD / 2u;
const ROWS = THREADS / PAIRS;    // positions whose values are added up side by side
const KEYS = PAIRS / LANES;      // words a thread reads of a block's keys
const VALUES = BLOCK / ROWS;     // and of its values
//!wgsl-only
//!include "graph.wgsl"
//!include "attention.wgsl"
// q; then the sums of values, by rows.
var<workgroup> staged: array<vec4<f32>, STAGED / 4u>;
var<workgroup> block_scores: array<f32, BLOCK>;

fn capped(args: u32, score: f32) -> f32 {
    let cap = arg_float(args, 8);
    if (cap > 0.0) { return cap * tanh(clamp(score / cap, -15.0, 15.0)); }
    return score;
}

// The positions that are this workgroup's: from, up to.
fn positions_of(args: u32, v: u32, position: u32) -> vec2<u32> {
    let row = v / arg(args, 14);
    // arg(13) bounds it: a position beyond the cache must not lead out of it.
    let last = min(position + row / arg(args, 4), arg(args, 13) - 1u);
    let seen = select(last + 1u, min(arg(args, 9), last + 1u), arg(args, 9) > 0u);
    let share = share_of(seen, arg(args, 14));
    let first = last + 1u - seen + v % arg(args, 14) * share;
    return vec2<u32>(first, min(first + share, last + 1u));
}

// Where the head's keys and values begin in a row of the state, in words.
fn head_of(args: u32, v: u32) -> u32 { return v / arg(args, 14) % arg(args, 4) / (arg(args, 4) / arg(args, 5)) * PAIRS; }
fn words_of_row(args: u32) -> u32 { return arg(args, 5) * PAIRS; }

var<private> keys: array<u32, KEYS>;
var<private> values: array<u32, VALUES>;

// Of the block's positions from `least` to `end`.
fn fetch_keys(args: u32, v: u32, block: u32, least: u32, end: u32, local: u32) {
    let p = block + local / LANES;
    if (p >= least && p < end) {
        let at = arg(args, 10) + p * words_of_row(args) + head_of(args, v) + local % LANES;
        for (var i = 0u; i < KEYS; i++) { keys[i] = state_word(at + i * LANES); }
    }
}

fn fetch_values(args: u32, v: u32, block: u32, least: u32, end: u32, local: u32) {
    let at = arg(args, 11) + head_of(args, v) + local % PAIRS;
    for (var i = 0u; i < VALUES; i++) {
        let p = block + local / PAIRS + i * ROWS;
        if (p >= least && p < end) { values[i] = state_word(at + p * words_of_row(args)); }
    }
}

fn begin(args: u32, v: u32, local: u32) {
    let position = load_word(arg(args, 6));
    let mine = positions_of(args, v, position);
    // What this run itself stores, from `position` on, may not be there yet.
    fetch_keys(args, v, mine.x, 0u, min(mine.y, position), local);
    fetch_values(args, v, mine.x, 0u, min(mine.y, position), local);
}

var<workgroup> position_of_row: u32;

fn body(args: u32, v: u32, local: u32) {
    if (BEGUN == 0u) { begin(args, v, local); }
    let row = v / arg(args, 14);
    if (local == 0u) { position_of_row = load_word(arg(args, 6)); }
    if (local < HEAD / 4u) {
        let at = arg(args, 2) + row * HEAD + local * 4u;
        staged[local] = vec4<f32>(load(at), load(at + 1u), load(at + 2u), load(at + 3u)) * arg_float(args, 7);
    }
    let position = workgroupUniformLoad(&position_of_row); // a barrier, too
    let mine = positions_of(args, v, position);
    fetch_keys(args, v, mine.x, position, mine.y, local);
    fetch_values(args, v, mine.x, position, mine.y, local);
    var q: array<vec2<f32>, KEYS>;
    for (var i = 0u; i < KEYS; i++) {
        let pair = local % LANES + i * LANES;
        let four = staged[pair / 2u];
        q[i] = select(four.xy, four.zw, pair % 2u == 1u);
    }
    workgroupBarrier();
    var most = -3.4e38;
    var total = 0.0;
    var value = vec2<f32>();
    for (var block = mine.x; block < mine.y; block += BLOCK) {
        var dot2 = vec2<f32>();
        for (var i = 0u; i < KEYS; i++) { dot2 += q[i] * unpack2x16float(keys[i]); }
        var score = dot2.x + dot2.y;
        for (var apart = 1u; apart < LANES; apart *= 2u) { score += subgroupShuffleXor(score, apart); }
        if (local % LANES == 0u) { block_scores[local / LANES] = select(-3.4e38, capped(args, score), block + local / LANES < mine.y); }
        fetch_keys(args, v, block + BLOCK, 0u, mine.y, local);
        workgroupBarrier();
        // Every subgroup finds the maximum and the sum for itself.
        var highest = -3.4e38;
        for (var i = local % SUBGROUP; i < BLOCK; i += SUBGROUP) { highest = max(highest, block_scores[i]); }
        let higher = max(most, subgroupMax(highest));
        var sum = 0.0;
        for (var i = local % SUBGROUP; i < min(BLOCK, mine.y - block); i += SUBGROUP) { sum += exp(block_scores[i] - higher); }
        let mend = exp(most - higher);
        total = total * mend + subgroupAdd(sum);
        value *= mend;
        most = higher;
        for (var i = 0u; i < VALUES; i++) {
            let p = local / PAIRS + i * ROWS;
            if (block + p < mine.y) { value += exp(block_scores[p] - higher) * unpack2x16float(values[i]); }
        }
        fetch_values(args, v, block + BLOCK, 0u, mine.y, local);
        workgroupBarrier();
    }
    // A row's pairs, two rows to a four.
    if (local / PAIRS % 2u == 0u) {
        staged[local / PAIRS / 2u * PAIRS + local % PAIRS] = vec4<f32>(value, 0.0, 0.0);
    }
    workgroupBarrier();
    if (local / PAIRS % 2u == 1u) {
        let first = staged[local / PAIRS / 2u * PAIRS + local % PAIRS];
        staged[local / PAIRS / 2u * PAIRS + local % PAIRS] = vec4<f32>(first.xy, value);
    }
    workgroupBarrier();
    let splits = arg(args, 14);
    if (local < PAIRS) {
        var both = vec4<f32>();
        for (var i = 0u; i < (ROWS + 1u) / 2u; i++) { both += staged[i * PAIRS + local]; }
        value = both.xy + both.zw;
        let out = arg(args, 1) + select(v * (HEAD + 2u), row * HEAD, splits == 1u) + 2u * local;
        if (splits == 1u) { value /= total; }
        store(out, value.x);
        store(out + 1u, value.y);
    }
    if (splits > 1u && local == 0u) {
        store(arg(args, 1) + v * (HEAD + 2u) + HEAD, most);
        store(arg(args, 1) + v * (HEAD + 2u) + HEAD + 1u, total);
    }
}
