// All of choosing a token by one thread, for software: it compiles in a tenth of the time that op_sample_scan and op_sample
// take, which choose the same token. Arguments and memory: kernels/include/sample.wgsl.
//
// What may be chosen is the first so many tokens in order of their keys, lower ids first among equals: where that ends is
// found eight bits at a time, by counting or weighing what is above.
//!wgsl-only
const THREADS = 1u;
//!include "graph.wgsl"
//!include "sample.wgsl"
//!include "sample_draw.wgsl"
const NOTHING = 0xffffffffu;

fn setting(args: u32, which: u32) -> u32 { return load_word(arg(args, 4) + which); }
fn key_at(args: u32, id: u32) -> u32 { return load_word(arg(args, 9) + id); }

// Logits with their penalties become keys. A token that was there twice is penalised once.
fn make_key(args: u32, id: u32, recent: bool) {
    var tame = tamed(bits_at(arg(args, 2) + id) & ~MARKS);
    if (recent) {
        let logit = bitcast<f32>(tame);
        tame = tamed(bitcast<u32>(logit * bitcast<f32>(setting(args, select(SETTING_REWARD, SETTING_PENALTY, logit <= 0.0)))));
    }
    store_word(arg(args, 9) + id, key_of(tame));
}

fn make_keys(args: u32) {
    let so_far = load_word(arg(args, 5)) + arg(args, 6);
    let recent = min(min(setting(args, SETTING_RECENT), so_far), arg(args, 8));
    for (var i = 0u; i < arg(args, 3) + recent; i++) {
        var id = i;
        if (i >= arg(args, 3)) { id = load_word(arg(args, 7) + (so_far - 1u - (i - arg(args, 3))) % max(arg(args, 8), 1u)); }
        if (id < arg(args, 3)) { make_key(args, id, i >= arg(args, 3)); }
    }
}

struct Best {
    key: u32,
    id: u32,
}

// The first token with the highest key, from one token up to another.
fn best_between(args: u32, first: u32, end: u32) -> Best {
    var best = Best(0u, first);
    for (var i = first; i < end; i++) {
        let key = key_at(args, i);
        if (key > best.key) { best = Best(key, i); }
    }
    return best;
}

struct Walked {
    place: u32,     // where the sum is more than the goal, or NOTHING
    sum: vec2<u32>, // of all before it
}

// Tokens that a walk looks at: from one id up to another, keys from `least` up to `most`, of those that are kept.
struct Range {
    first: u32,
    end: u32,
    least: u32,
    most: u32,
    kept: u32, // the lowest key that is,
    last: u32, // and the last id that is with it
}

// Sums for 256 ranges of keys.
const BINS = 256u;
var<private> bins_low: array<u32, BINS>;
var<private> bins_high: array<u32, BINS>;

// Each with its likelihood; a scale of 0: each counts as one. From which bit on the keys say a bin that they go to; 32: the walk ends where
// the sum is more than the goal.
fn walk(args: u32, range: Range, best: f32, scale: f32, begin: vec2<u32>, goal: vec2<u32>, bit: u32) -> Walked {
    var w = Walked(NOTHING, begin);
    for (var i = range.first; i < range.end; i++) {
        let key = key_at(args, i);
        if (key >= max(range.least, range.kept) && key <= range.most && (key > range.kept || i <= range.last)) {
            let here = select(vec2<u32>(1u, 0u), likelihood(key, best, scale), scale > 0.0);
            if (bit < 32u) {
                let bin = (key >> bit) % BINS;
                let sum = add_wide(vec2<u32>(bins_low[bin], bins_high[bin]), here);
                bins_low[bin] = sum.x;
                bins_high[bin] = sum.y;
                continue;
            }
            let after = add_wide(w.sum, here);
            if (less_wide(goal, after)) {
                w.place = i;
                break;
            }
            w.sum = after;
        }
    }
    return w;
}

const NO_GOAL = vec2<u32>(0xffffffffu); // no sum is more

fn choose(args: u32) -> u32 {
    make_keys(args);
    let all = best_between(args, 0u, arg(args, 3));
    let best = logit_of(all.key);
    let scale = bitcast<f32>(setting(args, SETTING_SCALE));
    if (scale <= 0.0) { return all.id; }
    let top_k = setting(args, SETTING_TOP_K);
    let top_p = setting(args, SETTING_TOP_P);
    let min_log = bitcast<f32>(setting(args, SETTING_MIN_LOG));
    let filtered = top_k > 0u || top_p > 0u || min_log > NO_MIN_LOG;

    var range = Range(0u, arg(args, 3), 0u, NOTHING, 1u, NOTHING);
    var goal = NO_GOAL;
    var total = vec2<u32>(0u);
    var otherwise = all.id;
    // Through the slices, where sums of all of them are wanted: each is against its own best, and brought down, as op_sample_scan
    // does it. Once for the total; without filters again, for the slice that the draw falls into.
    if (top_k == 0u && (top_p > 0u || !filtered)) {
        for (var turn = 0u; turn < at_run_time(select(2u, 1u, filtered)); turn++) {
            var sum = vec2<u32>(0u);
            for (var slice = 0u; slice < arg(args, 12); slice++) {
                let first = slice * arg(args, 11);
                let end = min(first + arg(args, 11), arg(args, 3));
                let own = best_between(args, first, end);
                let by = select(scale, SCALE_OF_ONE, top_p > 0u);
                let here = walk(args, Range(first, end, 0u, NOTHING, 1u, NOTHING), logit_of(own.key), by, vec2<u32>(0u), NO_GOAL, 32u).sum;
                let after = add_wide(sum, against(here, logit_of(own.key), best, by));
                if (less_wide(goal, after)) {
                    range = Range(first, end, 0u, NOTHING, 1u, NOTHING);
                    otherwise = own.id; // the slice's sum was rounded: the draw may fall behind its last token
                    break;
                }
                sum = after;
            }
            if (turn == 0u) {
                total = sum;
                if (!filtered) { goal = draw(args, total, setting(args, SETTING_SEED)); }
            } else {
                goal = subtract_wide(goal, sum);
            }
        }
    }
    // First how many there may be, then how likely they must be together, then which of them it is. Each is one walk, again and
    // again: compilers put a function in place wherever it is called.
    for (var stage = select(2u, 0u, filtered); stage < 3u; stage++) {
        if ((stage == 0u && top_k == 0u) || (stage == 1u && top_p == 0u)) { continue; }
        let min_key = select(key_of(tamed(bitcast<u32>(best + min_log))), 1u, min_log <= NO_MIN_LOG);
        if (stage == 2u && min_key > range.kept) {
            range.kept = min_key;
            range.last = NOTHING;
        }
        let by = select(select(SCALE_OF_ONE, 0.0, stage == 0u), scale, stage == 2u);
        var begin = vec2<u32>(0u);
        var key = 0u;
        // Turn 0: all there is. Of the first two stages 1 to 4: eight bits of the highest key at and above which there is more than the
        // goal, and what is above those; 5: those that have that key, by id. Of the last one 5: the token.
        for (var turn = select(5u, 0u, filtered); turn < at_run_time(6u); turn++) {
            if (stage == 2u && turn > 0u && turn < 5u) { continue; }
            let bit = select(32u, 32u - 8u * turn, turn > 0u && turn < 5u);
            range.least = 0u;
            range.most = NOTHING;
            if (turn > 1u && stage < 2u) {
                range.least = key << (40u - 8u * min(turn, 5u));
                range.most = range.least | ((1u << (40u - 8u * min(turn, 5u))) - 1u);
            }
            for (var i = 0u; i < select(0u, BINS, bit < 32u); i++) {
                bins_low[i] = 0u;
                bins_high[i] = 0u;
            }
            let w = walk(args, range, best, by, begin, select(goal, NO_GOAL, turn == 0u), bit);
            if (turn == 0u) {
                if (stage == 0u) { goal = vec2<u32>(top_k - 1u, 0u); }
                if (stage == 1u) { goal = portion(select(total, w.sum, top_k > 0u), top_p); }
                if (stage == 2u) { goal = draw(args, w.sum, setting(args, SETTING_SEED)); }
                if (!less_wide(goal, w.sum)) { break; } // all of it is not more
            } else if (turn < 5u) {
                var bin = BINS;
                while (bin > 0u) {
                    bin -= 1u;
                    let after = add_wide(begin, vec2<u32>(bins_low[bin], bins_high[bin]));
                    if (less_wide(goal, after)) { break; }
                    begin = after;
                }
                key = (key << 8u) | bin;
            } else if (stage < 2u) {
                range.kept = key;
                range.last = w.place;
            } else if (w.place != NOTHING) {
                otherwise = w.place;
            }
        }
    }
    return otherwise;
}

fn body(args: u32, v: u32, local: u32) {
    if (local > 0u) { return; }
    let token = min(choose(args), arg(args, 3) - 1u);
    store_word(arg(args, 1), token);
    if (arg(args, 13) == 1u && arg(args, 8) > 0u) { store_word(arg(args, 7) + (load_word(arg(args, 5)) + arg(args, 6)) % max(arg(args, 8), 1u), token); }
}
