// All of sampling a token by one thread, for software, which compiles this in a tenth of the time that
// op_sample_scan.wgsl and op_sample.wgsl take; it chooses the same token. Arithmetic: include/sample.wgsl. At
// SAMPLE_SLICES are its bins.
//
// The candidates are the first tokens in order of their keys, lower ids first among equals: where they end is found
// eight bits at a time, by counting or weighing the tokens above. All of this is one walk over the keys, again and
// again: compilers inline every function, and take milliseconds for each place that reads or writes memory.
//!wgsl-only
override THREADS = 1u;
//!include "graph.wgsl"
//!include "sample.wgsl"
//!include "sample_draw.wgsl"
const NO_TOKEN = 0xffffffffu;
const NO_GOAL = vec2<u32>(0xffffffffu); // no sum is more
const BINS = 256u;                      // low words of sums, then high ones

// What a walk is for: first how many candidates there are (top_k), then how likely they are together (top_p), then
// which of them it is. Before that, the best of all; and where sums over all tokens are needed, slice by slice its best
// and its sum, relative to its own best first, as op_sample_scan.wgsl does: once for the total, and without filters
// again for the slice that the draw falls into.
const COUNTING = 0u;
const WEIGHING = 1u;
const CHOOSING = 2u;
const BEST = 3u;
const BEST_OF_SLICE = 4u;
const SLICE = 5u;

// Logits with their penalties become keys. A token that occurred twice is penalised once.
fn make_keys(args: u32, so_far: u32, recent: u32, penalty: f32, reward: f32) {
    for (var i = 0u; i < arg(args, SAMPLE_VOCAB) + recent; i++) {
        var id = i;
        if (i >= arg(args, SAMPLE_VOCAB)) {
            id = load_word(arg(args, SAMPLE_HISTORY) +
                (so_far - 1u - (i - arg(args, SAMPLE_VOCAB))) % max(arg(args, SAMPLE_HISTORY_TOK), 1u));
        }
        if (id < arg(args, SAMPLE_VOCAB)) {
            var tame = tamed(bits_at(arg(args, SAMPLE_LOGITS) + id) & ~EPOCH_BIT);
            if (i >= arg(args, SAMPLE_VOCAB)) {
                tame = tamed(bitcast<u32>(bitcast<f32>(tame) * select(reward, penalty, bitcast<f32>(tame) <= 0.0)));
            }
            store_word(arg(args, SAMPLE_KEYS) + id, key_of(tame));
        }
    }
}

// The token, and NOT_FINITE if that holds.
fn choose(args: u32, so_far: u32) -> u32 {
    var settings = vec4<u32>(); // the first four settings, and the others
    var others = vec4<u32>();
    for (var i = 0u; i < at_run_time(SETTINGS); i++) {
        let setting = load_word(arg(args, SAMPLE_SETTINGS) + i);
        if (i < 4u) { settings[i] = setting; } else { others[i - 4u] = setting; }
    }
    make_keys(args, so_far, min(min(others[SETTING_RECENT - 4u], so_far), arg(args, SAMPLE_HISTORY_TOK)),
        bitcast<f32>(others[SETTING_PENALTY - 4u]), bitcast<f32>(others[SETTING_REWARD - 4u]));
    let scale = bitcast<f32>(settings[SETTING_SCALE]);
    let top_k = settings[SETTING_TOP_K];
    let top_p = settings[SETTING_TOP_P];
    let min_log = bitcast<f32>(settings[SETTING_MIN_LOG]);
    let filtered = top_k > 0u || top_p > 0u || min_log > NO_MIN_LOG;

    var stage = BEST;
    // In the first three stages. 0: the sum over all. In the first two 1 to 4: finds eight more bits of the highest key
    // at and above which the sum exceeds the goal, and the sum above it; 5: the tokens with that key, by id. In the
    // third 5: the token.
    var walk = 0u;
    var chosen = 0u;
    var finite = 0u;
    var first = 0u;        // walks begin here
    var end = arg(args, SAMPLE_VOCAB); // and end here
    var kept = 1u;         // the lowest key of a candidate,
    var last = NO_TOKEN;    // and the last id that it may have
    var best = 0.0;
    var own = Best(0u, 0u); // of a slice
    var slice = 0u;
    var sum = vec2<u32>();  // of all slices, or above a key
    var total = vec2<u32>();
    var goal = NO_GOAL;
    var key = 0u;
    var draws = false; // the next walk draws from the total
    loop {
        let bit = select(32u, 32u - 8u * walk, stage < CHOOSING && walk > 0u && walk < 5u);
        let low = 40u - 8u * min(walk, 5u); // bits of the key that are not known yet
        let least = select(0u, key << low, stage < CHOOSING && walk > 1u);
        let most = select(NO_TOKEN, (key << low) | ((1u << low) - 1u), stage < CHOOSING && walk > 1u);
        // A token counts as one, or with its likelihood at this scale.
        var by = select(scale, SCALE_OF_ONE, stage == WEIGHING || (stage == SLICE && top_p > 0u));
        if (stage == COUNTING) { by = 0.0; }
        for (var i = 0u; i < select(0u, 2u * BINS, bit < 32u); i++) { store_word(arg(args, SAMPLE_SLICES) + i, 0u); }

        var found = Best(0u, first);
        var place = NO_TOKEN; // where the sum exceeds the goal
        var here = select(vec2<u32>(), sum, stage < CHOOSING && walk == 5u);
        for (var i = first; i < end; i++) {
            let this_key = load_word(arg(args, SAMPLE_KEYS) + i);
            if (this_key > found.key) { found = Best(this_key, i); }
            if (stage != BEST && stage != BEST_OF_SLICE && this_key >= max(least, kept) && this_key <= most &&
                (this_key > kept || i <= last)) {
                let worth = select(vec2<u32>(1u, 0u), likelihood(this_key,
                    select(best, logit_of(own.key), stage == SLICE), by), by > 0.0);
                let bin = arg(args, SAMPLE_SLICES) + (this_key >> (bit % 32u)) % BINS;
                var so_far_here = here;
                if (bit < 32u) { so_far_here = vec2<u32>(load_word(bin), load_word(bin + BINS)); }
                let after = add_wide(so_far_here, worth);
                if (bit < 32u) {
                    store_word(bin, after.x);
                    store_word(bin + BINS, after.y);
                } else if (stage < BEST && walk > 0u && less_wide(goal, after)) {
                    place = i;
                    break;
                } else {
                    here = after;
                }
            }
        }

        // A slice's sum relative to the best of all, a portion, or a draw: each is a product.
        let h = halvings(best, logit_of(own.key), by);
        var factor = top_p;
        if (stage == SLICE) { factor = part_of_two(h & 0xffffffu); }
        if (stage == CHOOSING || draws) { factor = random_bits(others[SETTING_SEED - 4u], so_far); }
        let product = multiply_longer(select(here, total, draws || (stage == WEIGHING && top_k == 0u)), factor);
        var found_slice = false;
        var next = stage; // or another one
        if (stage == BEST) {
            best = logit_of(found.key);
            finite = finiteness(found.key);
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
            let after = add_wide(sum, shift_right_wide(vec2<u32>((product.y << 1u) | (product.x >> 31u),
                (product.z << 1u) | (product.y >> 31u)), h >> 24u));
            next = BEST_OF_SLICE;
            slice += 1u;
            if (less_wide(goal, after)) {
                chosen = own.id; // the slice's sum was rounded: the draw may fall behind its last token
                goal = subtract_wide(goal, sum);
                next = CHOOSING;
                walk = 5u;
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
        } else if (walk == 0u) {
            if (stage == COUNTING) { goal = vec2<u32>(top_k - 1u, 0u); }
            // The least integer that is at least this portion, less 1: a running sum has to exceed it.
            if (stage > COUNTING) { goal = product.yz; }
            if (stage == WEIGHING && product.x == 0u && any(goal != vec2<u32>())) {
                goal = subtract_wide(goal, vec2<u32>(1u, 0u));
            }
            if (stage == CHOOSING) {
                walk = 5u;
            } else if (less_wide(goal, here)) {
                walk = 1u;
                sum = vec2<u32>();
            } else {
                next = stage + 1u; // all of them together do not exceed it
            }
        } else if (walk < 5u) {
            var bin = BINS;
            while (bin > 0u) {
                bin -= 1u;
                let after = add_wide(sum, vec2<u32>(load_word(arg(args, SAMPLE_SLICES) + bin),
                    load_word(arg(args, SAMPLE_SLICES) + BINS + bin)));
                if (less_wide(goal, after)) { break; }
                sum = after;
            }
            key = (key << 8u) | bin;
            walk += 1u;
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
            walk = 0u;
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
    return chosen | finite;
}

struct Best {
    key: u32,
    id: u32,
}

fn body(args: u32, v: u32, local: u32) {
    if (local > 0u) { return; }
    let so_far = load_word(arg(args, SAMPLE_POSITION)) + arg(args, SAMPLE_POSITION_PLUS);
    let chosen = choose(args, so_far);
    let token = min(chosen & ~NOT_FINITE, arg(args, SAMPLE_VOCAB) - 1u);
    store_word(arg(args, ARG_OUT), token);
    if (arg(args, SAMPLE_APPEND) == 1u && arg(args, SAMPLE_HISTORY_TOK) > 0u) {
        store_word(arg(args, SAMPLE_HISTORY) + so_far % max(arg(args, SAMPLE_HISTORY_TOK), 1u),
            token | (chosen & NOT_FINITE));
    }
}
