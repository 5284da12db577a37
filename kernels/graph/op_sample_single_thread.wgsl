// All of choosing a token by one thread, for software: it compiles in a tenth of the time that op_sample_scan and op_sample
// take, which choose the same token. Arguments and memory: kernels/include/sample.wgsl; where slices are there, bins are here.
//
// What may be chosen is the first so many tokens in order of their keys, lower ids first among equals: where that ends is
// found eight bits at a time, by counting or weighing what is above. All of it is one walk over the keys, again and again: compilers
// put a function in place wherever it is called, and take milliseconds for each place that reads or writes memory.
//!wgsl-only
override THREADS = 1u;
//!include "graph.wgsl"
//!include "sample.wgsl"
//!include "sample_draw.wgsl"
const NO_TOKEN = 0xffffffffu;
const NO_GOAL = vec2<u32>(0xffffffffu); // no sum is more
const BINS = 256u;                      // low words of sums, then high ones

// What a walk is for. First how many there may be, then how likely they must be together, then which of them it is. Before: the
// best of all; and where sums of all are wanted, slice by slice its best and its sum, each against its own best, and brought down, as
// op_sample_scan does it. Once for the total; without filters again, for the slice that the draw falls into.
const COUNTING = 0u;
const WEIGHING = 1u;
const CHOOSING = 2u;
const BEST = 3u;
const BEST_OF_SLICE = 4u;
const SLICE = 5u;

// Logits with their penalties become keys. A token that was there twice is penalised once.
fn make_keys(args: u32, so_far: u32, recent: u32, penalty: f32, reward: f32) {
    for (var i = 0u; i < arg(args, SAMPLE_VOCAB) + recent; i++) {
        var id = i;
        if (i >= arg(args, SAMPLE_VOCAB)) { id = load_word(arg(args, SAMPLE_HISTORY) + (so_far - 1u - (i - arg(args, SAMPLE_VOCAB))) % max(arg(args, SAMPLE_HISTORY_TOK), 1u)); }
        if (id < arg(args, SAMPLE_VOCAB)) {
            var tame = tamed(bits_at(arg(args, SAMPLE_LOGITS) + id) & ~EPOCH_BIT);
            if (i >= arg(args, SAMPLE_VOCAB)) { tame = tamed(bitcast<u32>(bitcast<f32>(tame) * select(reward, penalty, bitcast<f32>(tame) <= 0.0))); }
            store_word(arg(args, SAMPLE_KEYS) + id, key_of(tame));
        }
    }
}

fn choose(args: u32, so_far: u32) -> u32 {
    var settings = vec4<u32>(); // the first four, and the others
    var others = vec4<u32>();
    for (var i = 0u; i < at_run_time(SETTINGS); i++) {
        let setting = load_word(arg(args, SAMPLE_SETTINGS) + i);
        if (i < 4u) { settings[i] = setting; } else { others[i - 4u] = setting; }
    }
    make_keys(args, so_far, min(min(others[SETTING_RECENT - 4u], so_far), arg(args, SAMPLE_HISTORY_TOK)), bitcast<f32>(others[SETTING_PENALTY - 4u]), bitcast<f32>(others[SETTING_REWARD - 4u]));
    let scale = bitcast<f32>(settings[SETTING_SCALE]);
    let top_k = settings[SETTING_TOP_K];
    let top_p = settings[SETTING_TOP_P];
    let min_log = bitcast<f32>(settings[SETTING_MIN_LOG]);
    let filtered = top_k > 0u || top_p > 0u || min_log > NO_MIN_LOG;

    var stage = BEST;
    // Of the first three stages. 0: all there is. Of the first two 1 to 4: eight bits of the highest key at and above which there is more than
    // the goal, and what is above those; 5: those that have that key, by id. Of the third 5: the token.
    var turn = 0u;
    var chosen = 0u;
    var first = 0u;        // walks go from here
    var end = arg(args, SAMPLE_VOCAB); // to here
    var kept = 1u;         // the lowest key that is,
    var last = NO_TOKEN;    // and the last id that is with it
    var best = 0.0;
    var own = Best(0u, 0u); // of a slice
    var slice = 0u;
    var sum = vec2<u32>();  // of all slices, or above a key
    var total = vec2<u32>();
    var goal = NO_GOAL;
    var key = 0u;
    var draws = false; // from the total, in the walk that comes next
    loop {
        let bit = select(32u, 32u - 8u * turn, stage < CHOOSING && turn > 0u && turn < 5u);
        let low = 40u - 8u * min(turn, 5u); // of the key so many bits are not known yet
        let least = select(0u, key << low, stage < CHOOSING && turn > 1u);
        let most = select(NO_TOKEN, (key << low) | ((1u << low) - 1u), stage < CHOOSING && turn > 1u);
        // Each counts as one, or with its likelihood.
        var by = select(scale, SCALE_OF_ONE, stage == WEIGHING || (stage == SLICE && top_p > 0u));
        if (stage == COUNTING) { by = 0.0; }
        for (var i = 0u; i < select(0u, 2u * BINS, bit < 32u); i++) { store_word(arg(args, SAMPLE_SLICES) + i, 0u); }

        var found = Best(0u, first);
        var place = NO_TOKEN; // where the sum is more than the goal
        var here = select(vec2<u32>(), sum, stage < CHOOSING && turn == 5u);
        for (var i = first; i < end; i++) {
            let this_key = load_word(arg(args, SAMPLE_KEYS) + i);
            if (this_key > found.key) { found = Best(this_key, i); }
            if (stage != BEST && stage != BEST_OF_SLICE && this_key >= max(least, kept) && this_key <= most && (this_key > kept || i <= last)) {
                let worth = select(vec2<u32>(1u, 0u), likelihood(this_key, select(best, logit_of(own.key), stage == SLICE), by), by > 0.0);
                let bin = arg(args, SAMPLE_SLICES) + (this_key >> (bit % 32u)) % BINS;
                var so_far_here = here;
                if (bit < 32u) { so_far_here = vec2<u32>(load_word(bin), load_word(bin + BINS)); }
                let after = add_wide(so_far_here, worth);
                if (bit < 32u) {
                    store_word(bin, after.x);
                    store_word(bin + BINS, after.y);
                } else if (stage < BEST && turn > 0u && less_wide(goal, after)) {
                    place = i;
                    break;
                } else {
                    here = after;
                }
            }
        }

        // A slice's sum as it is against the best of all, a portion, or a draw: each is a product.
        let h = halvings(best, logit_of(own.key), by);
        var factor = top_p;
        if (stage == SLICE) { factor = part_of_two(h & 0xffffffu); }
        if (stage == CHOOSING || draws) { factor = random_bits(others[SETTING_SEED - 4u], so_far); }
        let product = multiply_longer(select(here, total, draws || (stage == WEIGHING && top_k == 0u)), factor);
        var found_slice = false;
        var next = stage; // or the one after it, where that is wanted
        if (stage == BEST) {
            best = logit_of(found.key);
            chosen = found.id;
            if (scale <= 0.0) { break; }
            next = select(COUNTING, BEST_OF_SLICE, top_k == 0u && (top_p > 0u || !filtered));
        } else if (stage == BEST_OF_SLICE) {
            own = found;
            next = SLICE;
            if (draws) {
                goal = product.yz;
                draws = false;
            }
        } else if (stage == SLICE) {
            let after = add_wide(sum, shift_right_wide(vec2<u32>((product.y << 1u) | (product.x >> 31u), (product.z << 1u) | (product.y >> 31u)), h >> 24u));
            next = BEST_OF_SLICE;
            slice += 1u;
            if (less_wide(goal, after)) {
                chosen = own.id; // the slice's sum was rounded: the draw may fall behind its last token
                goal = subtract_wide(goal, sum);
                next = CHOOSING;
                turn = 5u;
                found_slice = true;
            } else if (slice < arg(args, SAMPLE_SLICE_COUNT)) {
                sum = after;
            } else {
                total = after;
                sum = vec2<u32>();
                slice = 0u;
                draws = !filtered;
                if (filtered) { next = COUNTING; }
            }
        } else if (turn == 0u) {
            if (stage == COUNTING) { goal = vec2<u32>(top_k - 1u, 0u); }
            // The least whole number that is this portion, less 1: what a running sum has to pass.
            if (stage > COUNTING) { goal = product.yz; }
            if (stage == WEIGHING && product.x == 0u && any(goal != vec2<u32>())) { goal = subtract_wide(goal, vec2<u32>(1u, 0u)); }
            if (stage == CHOOSING) {
                turn = 5u;
            } else if (less_wide(goal, here)) {
                turn = 1u;
                sum = vec2<u32>();
            } else {
                next = stage + 1u; // all of it is not more
            }
        } else if (turn < 5u) {
            var bin = BINS;
            while (bin > 0u) {
                bin -= 1u;
                let after = add_wide(sum, vec2<u32>(load_word(arg(args, SAMPLE_SLICES) + bin), load_word(arg(args, SAMPLE_SLICES) + BINS + bin)));
                if (less_wide(goal, after)) { break; }
                sum = after;
            }
            key = (key << 8u) | bin;
            turn += 1u;
        } else if (stage < CHOOSING) {
            kept = key;
            last = place;
            next = stage + 1u;
        } else {
            if (place != NO_TOKEN) { chosen = place; }
            break;
        }

        if (next == BEST_OF_SLICE) {
            first = slice * arg(args, SAMPLE_SLICE_TOK);
            end = min(first + arg(args, SAMPLE_SLICE_TOK), arg(args, SAMPLE_VOCAB));
        } else if (next < BEST && next != stage && !found_slice) {
            turn = 0u;
            first = 0u;
            end = arg(args, SAMPLE_VOCAB);
            if (next == COUNTING && top_k == 0u) { next = WEIGHING; }
            if (next == WEIGHING && top_p == 0u) { next = CHOOSING; }
            let min_key = select(key_of(tamed(bitcast<u32>(best + min_log))), 1u, min_log <= NO_MIN_LOG);
            if (next == CHOOSING && min_key > kept) {
                kept = min_key;
                last = NO_TOKEN;
            }
            key = 0u;
        }
        stage = next;
    }
    return chosen;
}

struct Best {
    key: u32,
    id: u32,
}

fn body(args: u32, v: u32, local: u32) {
    if (local > 0u) { return; }
    let so_far = load_word(arg(args, SAMPLE_POSITION)) + arg(args, SAMPLE_POSITION_PLUS);
    let token = min(choose(args, so_far), arg(args, SAMPLE_VOCAB) - 1u);
    store_word(arg(args, ARG_OUT), token);
    if (arg(args, SAMPLE_APPEND) == 1u && arg(args, SAMPLE_HISTORY_TOK) > 0u) { store_word(arg(args, SAMPLE_HISTORY) + so_far % max(arg(args, SAMPLE_HISTORY_TOK), 1u), token); }
}
