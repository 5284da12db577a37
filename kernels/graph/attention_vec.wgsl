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
override GROUP = 1u; // heads of q that have the same keys and values, of a workgroup: these are read once for all
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
var<workgroup> block_scores: array<f32, BLOCK * GROUP>;

fn capped(args: u32, score: f32) -> f32 {
    let cap = arg_float(args, ATTENTION_SOFTCAP);
    if (cap > 0.0) { return cap * tanh(clamp(score / cap, -15.0, 15.0)); }
    return score;
}

// A row is one head of one text: the first that the workgroup has.
fn row_of(args: u32, v: u32) -> u32 { return v / arg(args, ATTENTION_SPLITS) * GROUP; }

//!for _ SLOTTED
// Where in the state the row's own position is.
fn place_of(args: u32, v: u32) -> u32 {
    let slot = row_of(args, v) / arg(args, ATTENTION_HEADS);
    return slot * arg(args, ATTENTION_CAPACITY) + slot_position(args, slot);
}

//!end
// The positions of this workgroup: from .x up to, not including, .y.
fn positions_of(args: u32, v: u32, position: u32) -> vec2<u32> {
    let row = row_of(args, v);
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
    return row_of(args, v) % arg(args, ATTENTION_HEADS) /
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

// Adds up what the rows of threads have of a head.
fn put_result(args: u32, v: u32, row: u32, value: vec2<f32>, total: f32, most: f32, local: u32) {
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

var<workgroup> position_of_row: u32;

fn work(args: u32, v: u32, local: u32, fetched: prefetched) {
    var b = fetched;
    let row = row_of(args, v);
//!for _ ALONE
    if (local == 0u) { position_of_row = load_word(arg(args, ATTENTION_POSITION)); }
//!end
//!for _ SLOTTED
    if (local == 0u) { position_of_row = place_of(args, v); }
//!end
    if (local < HEAD / 4u * (GROUP + 2u * NOW)) {
        let of_q = local < HEAD / 4u * GROUP;
        var begins = arg(args, ARG_X) + row * HEAD;
        if (!of_q) {
            begins = select(arg(args, ATTENTION_OWN_VALUE), arg(args, ATTENTION_OWN_KEY),
                local < HEAD / 4u * (GROUP + 1u)) + head_of(args, v) * 2u;
        }
        let at = vec4<u32>(0u, 1u, 2u, 3u) + begins + select(local % (HEAD / 4u), local, of_q) * 4u;
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
//!for h GROUP
    let q_#i_#h = shared_x_vec2(#hu * PAIRS + pair_#i);
//!end
//!end
    var now = 0u; // the row's own value
    if (NOW == 1u) { now = halves_of_pair(HEAD / 4u * (GROUP + 1u), local % PAIRS); }
//!for h GROUP
    var most_#h = -3.4e38;
    var total_#h = 0.0; // of the weights of this row of threads
    if (arg(args, ATTENTION_SINKS) > 0u && v % arg(args, ATTENTION_SPLITS) == 0u) {
        most_#h = load(arg(args, ATTENTION_SINKS) - 1u + (row + #hu) % arg(args, ATTENTION_HEADS));
        total_#h = select(0.0, 1.0, local < PAIRS);
    }
    var value_#h = vec2<f32>();
//!end
    var block = mine.x;
    for (var left = (max(mine.x, mine.y) - mine.x + BLOCK - 1u) / BLOCK; left > 0u; left--) {
        var next = b;
        if (AHEAD == 1u) {
            fetch_keys(&next, args, v, block + BLOCK, 0u, stored, local);
            fetch_values(&next, args, v, block + BLOCK, 0u, stored, local);
        }
        if (NOW == 1u && block + local / LANES == position) {
//!for i KEYS
            b.key_#i = halves_of_pair(HEAD / 4u * GROUP, pair_#i);
//!end
        }
//!for h GROUP
        var dot2_#h = vec2<f32>();
//!end
//!for i KEYS
        let key_#i = unpack2x16float(b.key_#i);
//!for h GROUP
        dot2_#h = fma(q_#i_#h, key_#i, dot2_#h); // fma, so that all kernels round alike
//!end
//!end
//!for h GROUP
        let score_#h = sum_over(dot2_#h.x + dot2_#h.y, LANES, local);
        if (local % LANES == 0u) {
            block_scores[#hu * BLOCK + local / LANES] = select(-3.4e38, capped(args, score_#h),
                block + local / LANES < mine.y);
        }
//!end
        if (AHEAD == 0u) { fetch_keys(&b, args, v, block + BLOCK, 0u, stored, local); }
        workgroupBarrier();
        // Every subgroup finds the maximum for itself.
//!for h GROUP
        var highest_#h = -3.4e38;
        for (var i = 0u; i < BLOCK / SUBGROUP; i++) {
            highest_#h = max(highest_#h, block_scores[#hu * BLOCK + i * SUBGROUP + local % SUBGROUP]);
        }
        let higher_#h = max(most_#h, subgroupMax(highest_#h));
        let rescale_#h = exp(most_#h - higher_#h);
        var sum_#h = 0.0;
        value_#h = rounded(vec4<f32>(value_#h * rescale_#h, value_#h)).xy;
        most_#h = higher_#h;
//!end
//!for i VALUES
        let p_#i = local / PAIRS + #iu * ROWS;
        let two_#i = unpack2x16float(select(b.value_#i, now, NOW == 1u && block + p_#i == position));
        if (block + p_#i < mine.y) {
//!for h GROUP
            let weight_#h = exp(block_scores[#hu * BLOCK + p_#i] - higher_#h);
            value_#h = fma(vec2<f32>(weight_#h), two_#i, value_#h);
            sum_#h += weight_#h;
//!end
        }
//!end
//!for h GROUP
        total_#h = fma(total_#h, rescale_#h, sum_#h);
//!end
        if (AHEAD == 1u) {
            b = next;
        } else {
            fetch_values(&b, args, v, block + BLOCK, 0u, stored, local);
        }
        // Before scores are overwritten. After the last block nothing is written here that is still read.
        if (block + BLOCK < mine.y) { workgroupBarrier(); }
        block += BLOCK;
    }
//!for h GROUP
    if (#hu > 0u) { workgroupBarrier(); } // sums of the head before are read
    put_result(args, v, row + #hu, value_#h, total_#h, most_#h, local);
//!end
}

fn body(args: u32, v: u32, local: u32) { work(args, v, local, prefetch(args, v, local)); }
