// Attention for one row of q, or a few, over a state of f16, as op_attention.wgsl, but compiled for a size of heads and
// for subgroups. What was stored before this run is read before q is there (`prefetch`), and each thread has its words
// of a whole block of positions in flight at once.
override THREADS = 512u;
const TEAM = 32u;
override HEAD = 64u; // elements of a head
override BLOCK = 128u; // positions at a time: large, because few splits are combined faster
const LANES = THREADS / BLOCK; // threads that share a position's score; they are in one subgroup
const PAIRS = HEAD / 2u;
const ROWS = THREADS / PAIRS; // positions whose values are added up side by side
override KEYS = 8u; // words of a block's keys that a thread reads: PAIRS / LANES
override VALUES = 8u; // and of its values: BLOCK / ROWS
override AHEAD = 0u; // 1: all of the next block is asked for before this one is used
override NOW = 0u; // 1: there is one row, and its own key and value are floats among the activations
//!wgsl-only
//!include "graph.wgsl"
//!include "floats.wgsl"
//!include "shared_x.wgsl"
//!include "subgroup_sum.wgsl"
//!for _ SLOTTED
//!include "slots.wgsl"
//!end
// In `shared_x`: q, and with NOW the row's own key and value; at the end the sums of values, row i in quarter i % 4,
// and beside them the sums of weights.
var<workgroup> block_scores: array<f32, BLOCK>;

fn capped(args: u32, score: f32) -> f32 {
    let cap = arg_float(args, ATTENTION_SOFTCAP);
    if (cap > 0.0) { return cap * tanh(clamp(score / cap, -15.0, 15.0)); }
    return score;
}

//!for _ SLOTTED
// Where in the state the row's own position is.
fn place_of(args: u32, v: u32) -> u32 {
    let slot = v / arg(args, ATTENTION_SPLITS) / arg(args, ATTENTION_HEADS);
    return slot * arg(args, ATTENTION_CAPACITY) + slot_position(args, slot);
}

//!end
// The positions of this workgroup: from .x up to, not including, .y.
fn positions_of(args: u32, v: u32, position: u32) -> vec2<u32> {
    let row = v / arg(args, ATTENTION_SPLITS);
//!for _ ALONE
    // A position beyond the cache must not lead out of it.
    let last = min(position + row / arg(args, ATTENTION_HEADS), arg(args, ATTENTION_CAPACITY) - 1u);
    let seen = select(last + 1u, min(arg(args, ATTENTION_WINDOW), last + 1u), arg(args, ATTENTION_WINDOW) > 0u);
//!end
//!for _ SLOTTED
    let last = position; // in the state, behind those of the slots before
    let own = position - row / arg(args, ATTENTION_HEADS) * arg(args, ATTENTION_CAPACITY);
    let seen = select(own + 1u, min(arg(args, ATTENTION_WINDOW), own + 1u), arg(args, ATTENTION_WINDOW) > 0u);
//!end
    // whole blocks
    let share = (seen + arg(args, ATTENTION_SPLITS) * BLOCK - 1u) / (arg(args, ATTENTION_SPLITS) * BLOCK) * BLOCK;
    let first = last + 1u - seen + v % arg(args, ATTENTION_SPLITS) * share;
    return vec2<u32>(first, min(first + share, last + 1u));
}

// The word at which the head's keys and values begin in a row of the state.
fn head_of(args: u32, v: u32) -> u32 {
    return v / arg(args, ATTENTION_SPLITS) % arg(args, ATTENTION_HEADS) /
        (arg(args, ATTENTION_HEADS) / arg(args, ATTENTION_KV_HEADS)) * PAIRS;
}
fn words_of_row(args: u32) -> u32 { return arg(args, ATTENTION_KV_HEADS) * PAIRS; }

// A thread's words of a block of positions.
struct prefetched {
//!for i KEYS
    key_#i: u32,
//!end
//!for i VALUES
    value_#i: u32,
//!end
}

// Pair `pair` of the head that begins at line `first` of shared_x, rounded to f16 as the state has it.
fn halves_of_pair(first: u32, pair: u32) -> u32 { return pack2x16float(shared_x_vec2(first * 2u + pair)); }

// Reads the keys, or values, of those positions of the block that are in least..end-1.
fn fetch_keys(b: ptr<function, prefetched>, args: u32, v: u32, block: u32, least: u32, end: u32, local: u32) {
    let p = block + local / LANES;
    if (p >= least && p < end) {
        let at = arg(args, ATTENTION_KEYS) + p * words_of_row(args) + head_of(args, v) + local % LANES;
//!for i KEYS
        (*b).key_#i = state_word(at + #iu * LANES);
//!end
    }
}

fn fetch_values(b: ptr<function, prefetched>, args: u32, v: u32, block: u32, least: u32, end: u32, local: u32) {
    let at = arg(args, ATTENTION_VALUES) + head_of(args, v) + local % PAIRS;
//!for i VALUES
    let p_#i = block + local / PAIRS + #iu * ROWS;
    if (p_#i >= least && p_#i < end) { (*b).value_#i = state_word(at + p_#i * words_of_row(args)); }
//!end
}

fn prefetch(args: u32, v: u32, local: u32) -> prefetched {
    var b: prefetched;
//!for _ ALONE
    let position = load_word(arg(args, ATTENTION_POSITION));
//!end
//!for _ SLOTTED
    let position = place_of(args, v);
//!end
    let mine = positions_of(args, v, position);
    // What this run itself stores, from `position` on, may not be there yet.
    fetch_keys(&b, args, v, mine.x, 0u, min(mine.y, position), local);
    fetch_values(&b, args, v, mine.x, 0u, min(mine.y, position), local);
    return b;
}

fn sum_of_weights() -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < ROWS; i++) { sum += bitcast<f32>(shared_x[3u - i % 4u][THREADS / 2u + i / 4u]); }
    return sum;
}

var<workgroup> position_of_row: u32;

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var b = fetched;
    let row = v / arg(args, ATTENTION_SPLITS);
//!for _ ALONE
    if (local == 0u) { position_of_row = load_word(arg(args, ATTENTION_POSITION)); }
//!end
//!for _ SLOTTED
    if (local == 0u) { position_of_row = place_of(args, v); }
//!end
    if (local < HEAD / 4u * (1u + 2u * NOW)) {
        let of_q = local < HEAD / 4u;
        var begins = arg(args, ARG_X) + row * HEAD;
        if (!of_q) {
            begins = select(arg(args, ATTENTION_OWN_VALUE), arg(args, ATTENTION_OWN_KEY), local < HEAD / 2u) +
                head_of(args, v) * 2u;
        }
        let at = vec4<u32>(0u, 1u, 2u, 3u) + begins + local % (HEAD / 4u) * 4u;
        store_shared_vec4(local, floats_of(bits_of_vec4(at), at, !of_q || arg(args, ATTENTION_Q_COMPUTED) == 1u) *
            select(1.0, arg_float(args, ATTENTION_SCALE), of_q));
    }
    let position = workgroupUniformLoad(&position_of_row); // also a barrier
    let mine = positions_of(args, v, position);
    // What this run stores is there now; or with NOW it is in shared_x, and is not read from the state.
    let stored = select(mine.y, min(mine.y, position), NOW == 1u);
    if (NOW == 0u) {
        fetch_keys(&b, args, v, mine.x, position, stored, local);
        fetch_values(&b, args, v, mine.x, position, stored, local);
    }
//!for i KEYS
    let pair_#i = local % LANES + #iu * LANES;
    let q_#i = shared_x_vec2(pair_#i);
//!end
    var now = 0u; // the row's own value
    if (NOW == 1u) { now = halves_of_pair(HEAD / 2u, local % PAIRS); }
    var most = -3.4e38;
    var total = 0.0; // of the weights of this row of threads
    if (arg(args, ATTENTION_SINKS) > 0u && v % arg(args, ATTENTION_SPLITS) == 0u) {
        most = load(arg(args, ATTENTION_SINKS) - 1u + row % arg(args, ATTENTION_HEADS));
        total = select(0.0, 1.0, local < PAIRS);
    }
    var value = vec2<f32>();
    var block = mine.x;
    for (var left = (max(mine.x, mine.y) - mine.x + BLOCK - 1u) / BLOCK; left > 0u; left--) {
        var next = b;
        if (AHEAD == 1u) {
            fetch_keys(&next, args, v, block + BLOCK, 0u, stored, local);
            fetch_values(&next, args, v, block + BLOCK, 0u, stored, local);
        }
        if (NOW == 1u && block + local / LANES == position) {
//!for i KEYS
            b.key_#i = halves_of_pair(HEAD / 4u, pair_#i);
//!end
        }
        var dot2 = vec2<f32>();
//!for i KEYS
        dot2 = fma(q_#i, unpack2x16float(b.key_#i), dot2); // fma, so that all kernels round alike
//!end
        let score = sum_over(dot2.x + dot2.y, LANES, local);
        if (local % LANES == 0u) {
            block_scores[local / LANES] = select(-3.4e38, capped(args, score), block + local / LANES < mine.y);
        }
        if (AHEAD == 0u) { fetch_keys(&b, args, v, block + BLOCK, 0u, stored, local); }
        workgroupBarrier();
        // Every subgroup finds the maximum for itself.
        var highest = -3.4e38;
        for (var i = 0u; i < BLOCK / SUBGROUP; i++) {
            highest = max(highest, block_scores[i * SUBGROUP + local % SUBGROUP]);
        }
        let higher = max(most, subgroupMax(highest));
        let rescale = exp(most - higher);
        var sum = 0.0;
        value = rounded(vec4<f32>(value * rescale, value)).xy;
        most = higher;
//!for i VALUES
        let p_#i = local / PAIRS + #iu * ROWS;
        let two_#i = unpack2x16float(select(b.value_#i, now, NOW == 1u && block + p_#i == position));
        if (block + p_#i < mine.y) {
            let weight = exp(block_scores[p_#i] - higher);
            value = fma(vec2<f32>(weight), two_#i, value);
            sum += weight;
        }
//!end
        total = fma(total, rescale, sum);
        if (AHEAD == 1u) {
            b = next;
        } else {
            fetch_values(&b, args, v, block + BLOCK, 0u, stored, local);
        }
        // Before scores are overwritten. After the last block nothing is written here that is still read.
        if (block + BLOCK < mine.y) { workgroupBarrier(); }
        block += BLOCK;
    }
    let row_here = local / PAIRS;
    let lies_at = row_here / 4u * HEAD + local % PAIRS * 2u;
    shared_x[row_here % 4u][lies_at] = bitcast<u32>(value.x);
    shared_x[row_here % 4u][lies_at + 1u] = bitcast<u32>(value.y);
    if (local % PAIRS == 0u) { shared_x[3u - row_here % 4u][THREADS / 2u + row_here / 4u] = bitcast<u32>(total); }
    workgroupBarrier();
    let splits = arg(args, ATTENTION_SPLITS);
    if (local < HEAD) {
        var sum = 0.0;
        for (var i = 0u; i < ROWS; i++) { sum += bitcast<f32>(shared_x[i % 4u][i / 4u * HEAD + local]); }
        if (splits == 1u) { sum *= inverse_of(sum_of_weights()); }
        store(arg(args, ARG_OUT) + select(v * (HEAD + 2u), row * HEAD, splits == 1u) + local, sum);
    }
    if (splits > 1u && local == THREADS - 1u) { // a thread that has nothing else to do
        store(arg(args, ARG_OUT) + v * (HEAD + 2u) + HEAD, most);
        store(arg(args, ARG_OUT) + v * (HEAD + 2u) + HEAD + 1u, sum_of_weights());
    }
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
