// The second half of sampling a token, by one workgroup, after op_sample_scan.wgsl. Arithmetic: include/sample.wgsl.
//
// The candidates are always the first tokens in order of their keys (lower ids first among equals): top_k, top_p and
// min_p each say how many, and the smallest number counts. There are four ways, all exact; the cheapest that suffices
// is taken:
//   most_likely   temperature 0: the best of the slices' best.
//   from_all      no filter: a slice by the slices' sums, then a token in it.
//   from_list     the slices' best keys give a bound below which no candidate is; the tokens above it, in the few
//                 slices that have any, fit a list of 1,024 and are sorted there.
//   by_search     what did not fit: where a running sum reaches its goal is found 9 bits at a time, by sums over 512
//                 ranges of keys, and then of ids.
// The draw goes through the candidates by id in all of them, so that all choose the same token.
override THREADS = 256u;
//!include "graph.wgsl"
//!include "shared_x.wgsl"
//!include "sample.wgsl"
//!include "sample_draw.wgsl"
const RUNS = 64u;             // runs in which a list is summed
const BINS = 512u;            // ranges of a search; two words for each have to fit a list
const GUESSED_SLICES = 256u;  // that are read for top_p if the slices' best do not say how many are needed
const NO_TOKEN = 0xffffffffu;  // no token, or no place in a list

var<workgroup> run_low: array<u32, RUNS>;
var<workgroup> run_high: array<u32, RUNS>;
var<workgroup> counter: atomic<u32>;
var<workgroup> shared_settings: array<u32, SETTINGS>;
var<workgroup> agreed: u32;

// Thread 0's value for all, uniform for the compiler: loops with barriers inside may depend on it.
fn agree(value: u32, local: u32) -> u32 {
    if (local == 0u) { agreed = value; }
    return workgroupUniformLoad(&agreed);
}

fn set_counter(value: u32, local: u32) {
    workgroupBarrier();
    if (local == 0u) { atomicStore(&counter, value); }
    workgroupBarrier();
}

// The counter, after all threads have changed it.
fn counted() -> u32 {
    workgroupBarrier();
    return atomicLoad(&counter);
}

// ---- running sums ---------------------------------------------------------

const OF_LIST = 0u;   // the list's likelihoods
const OF_SLICES = 1u; // the slices' sums
const OF_KEYS = 2u;   // likelihoods of keys in memory
const OF_BINS = 3u;   // a search's bins, from the highest

struct Series {
    kind: u32,
    count: u32,
    first: u32, // OF_KEYS: the place of the first
    best: f32,
    scale: f32,
}

fn item(s: Series, i: u32) -> vec2<u32> {
    switch (s.kind) {
        case OF_SLICES: { return vec2<u32>(shared_word(SLICES_AT + i), atomicLoad(&list_ids[i])); }
        case OF_KEYS: { return likelihood(load_word(s.first + i), s.best, s.scale); }
        case OF_BINS: {
            return vec2<u32>(atomicLoad(&list_ids[BINS - 1u - i]), atomicLoad(&list_ids[2u * BINS - 1u - i]));
        }
        default: { return likelihood(shared_word(KEYS_AT + i), s.best, s.scale); }
    }
}

// RUNS, hidden from compilers, which would write out all of them wherever a sum is needed, and take a second for that.
fn runs_of(s: Series) -> u32 { return RUNS + (s.count >> 31u); }

fn sum_of(s: Series, local: u32) -> vec2<u32> {
    let length = (s.count + RUNS - 1u) / RUNS;
    workgroupBarrier();
    if (local < RUNS) {
        var sum = vec2<u32>(0u);
        for (var i = local * length; i < min((local + 1u) * length, s.count); i++) { sum = add_wide(sum, item(s, i)); }
        run_low[local] = sum.x;
        run_high[local] = sum.y;
    }
    workgroupBarrier();
    var total = vec2<u32>(0u);
    for (var r = 0u; r < runs_of(s); r += 8u) {
        for (var i = r; i < r + 8u; i++) { total = add_wide(total, vec2<u32>(run_low[i], run_high[i])); }
    }
    return total;
}

struct Passed {
    place: u32,        // the first item at which the running sum exceeds the goal, or NO_TOKEN
    before: vec2<u32>, // the sum before it
    here: vec2<u32>,   // the item
}

// After sum_of of the same series. Every thread does all of it, so that none waits for another.
fn passes(s: Series, goal: vec2<u32>) -> Passed {
    let length = (s.count + RUNS - 1u) / RUNS;
    var p = Passed(NO_TOKEN, vec2<u32>(0u), vec2<u32>(0u));
    var run = 0u;
    for (; run < runs_of(s); run++) {
        let after = add_wide(p.before, vec2<u32>(run_low[run], run_high[run]));
        if (less_wide(goal, after)) { break; }
        p.before = after;
    }
    for (var i = run * length; i < min((run + 1u) * length, s.count); i++) {
        p.here = item(s, i);
        let after = add_wide(p.before, p.here);
        if (less_wide(goal, after)) {
            p.place = i;
            return p;
        }
        p.before = after;
    }
    return p;
}

// ---- lists ----------------------------------------------------------------

fn stands_before(a: u32, b: u32, by_id: bool) -> bool {
    let ids = atomicLoad(&list_ids[a]) < atomicLoad(&list_ids[b]);
    if (by_id || shared_word(KEYS_AT + a) == shared_word(KEYS_AT + b)) { return ids; }
    return shared_word(KEYS_AT + a) > shared_word(KEYS_AT + b);
}

// Sorts the first `count` items of the list: by key from the highest, equals by id; or by id. A bitonic sort.
fn sort_list(count: u32, by_id: bool, local: u32) {
    var size = 1u;
    while (size < count) { size *= 2u; }
    for (var i = count + local; i < size; i += THREADS) {
        store_shared_word(KEYS_AT + i, 0u);
        atomicStore(&list_ids[i], NO_TOKEN);
    }
    workgroupBarrier();
    for (var block = 2u; block <= size; block *= 2u) {
        for (var apart = block / 2u; apart > 0u; apart /= 2u) {
            for (var i = local; i < size / 2u; i += THREADS) {
                let a = 2u * i - i % apart;
                let b = a + apart;
                if (stands_before(b, a, by_id) == ((a & block) == 0u)) {
                    let key = shared_word(KEYS_AT + a);
                    let id = atomicLoad(&list_ids[a]);
                    store_shared_word(KEYS_AT + a, shared_word(KEYS_AT + b));
                    atomicStore(&list_ids[a], atomicLoad(&list_ids[b]));
                    store_shared_word(KEYS_AT + b, key);
                    atomicStore(&list_ids[b], id);
                }
            }
            workgroupBarrier();
        }
    }
}

// How many of the first `count` items of a sorted list have this key or a higher one.
fn count_from(key: u32, count: u32, local: u32) -> u32 {
    set_counter(0u, local);
    for (var i = local; i < count; i += THREADS) {
        if (shared_word(KEYS_AT + i) >= key) { atomicMax(&counter, i + 1u); }
    }
    return counted();
}

// ---- slices ---------------------------------------------------------------

fn slice_key(args: u32, slice: u32) -> u32 {
    return load_word(arg(args, SAMPLE_SLICES) + SLICE_SIZE * slice + SLICE_BEST_KEY);
}

// The slices' sums relative to the best logit of all.
fn weigh_slices(args: u32, best: f32, scale: f32, local: u32) {
    for (var i = local; i < arg(args, SAMPLE_SLICE_COUNT); i += THREADS) {
        let slice = arg(args, SAMPLE_SLICES) + SLICE_SIZE * i;
        let sum = against(vec2<u32>(load_word(slice + SLICE_SUM_LOW), load_word(slice + SLICE_SUM_HIGH)),
            logit_of(load_word(slice + SLICE_BEST_KEY)), best, scale);
        store_shared_word(SLICES_AT + i, sum.x);
        atomicStore(&list_ids[i], sum.y);
    }
}

// Ids and keys of the tokens of the listed slices, numbered consecutively.
fn id_at(args: u32, i: u32) -> u32 {
    return shared_word(SLICES_AT + i / arg(args, SAMPLE_SLICE_TOK)) * arg(args, SAMPLE_SLICE_TOK) +
        i % arg(args, SAMPLE_SLICE_TOK);
}
fn key_in_slices(args: u32, i: u32, count: u32) -> u32 {
    if (i >= count) { return 0u; }
    return load_word(arg(args, SAMPLE_KEYS) + id_at(args, i));
}

// Four at a time, so that their loads are in flight together.
fn four_in_slices(args: u32, i: u32, count: u32) -> vec4<u32> {
    if (COMPACT == 1u) {
        var four = vec4<u32>();
        for (var k = 0u; k < at_run_time(4u); k++) { four[k] = key_in_slices(args, i + k * THREADS, count); }
        return four;
    }
    return vec4<u32>(key_in_slices(args, i, count), key_in_slices(args, i + THREADS, count),
        key_in_slices(args, i + 2u * THREADS, count),
                     key_in_slices(args, i + 3u * THREADS, count));
}

// ---- the four ways --------------------------------------------------------
// Compilers inline every function: so the large ones, and those with barriers, are called in few places, if need be in
// loops.

fn most_likely(args: u32, best_key: u32, local: u32) -> u32 {
    set_counter(NO_TOKEN, local);
    for (var i = local; i < arg(args, SAMPLE_SLICE_COUNT); i += THREADS) {
        if (slice_key(args, i) == best_key) {
            atomicMin(&counter, load_word(arg(args, SAMPLE_SLICES) + SLICE_SIZE * i + SLICE_BEST_ID));
        }
    }
    return counted();
}

// After weigh_slices and sum_of.
fn from_all(args: u32, sums: Series, total: vec2<u32>, seed: u32, local: u32) -> u32 {
    let goal = draw(args, total, seed);
    let slice = passes(sums, goal);
    let keys = Series(OF_KEYS, arg(args, SAMPLE_SLICE_TOK),
        arg(args, SAMPLE_KEYS) + slice.place * arg(args, SAMPLE_SLICE_TOK), sums.best, sums.scale);
    let unused = sum_of(keys, local);
    let token = passes(keys, subtract_wide(goal, slice.before)).place;
    // The slice's sum was rounded: a draw behind its last token means the best one.
    if (token == NO_TOKEN) { return load_word(arg(args, SAMPLE_SLICES) + SLICE_SIZE * slice.place + SLICE_BEST_ID); }
    return slice.place * arg(args, SAMPLE_SLICE_TOK) + token;
}

// Lists all tokens with this key or a higher one, and returns their number; beyond LONGEST they are not listed.
fn list_from(args: u32, bound: u32, local: u32) -> u32 {
    let listed = count_from(bound, arg(args, SAMPLE_SLICE_COUNT), local);
    for (var i = local; i < listed; i += THREADS) { store_shared_word(SLICES_AT + i, atomicLoad(&list_ids[i])); }
    set_counter(0u, local);
    let tokens = listed * arg(args, SAMPLE_SLICE_TOK);
    for (var i = local; i < tokens; i += 4u * THREADS) {
        let four = four_in_slices(args, i, tokens);
        for (var k = 0u; k < at_run_time(4u); k++) {
            if (four[k] >= bound) {
                let place = atomicAdd(&counter, 1u);
                if (place < LONGEST) {
                    store_shared_word(KEYS_AT + place, four[k]);
                    atomicStore(&list_ids[place], id_at(args, i + k * THREADS));
                }
            }
        }
    }
    return counted();
}

// NO_TOKEN if the candidates do not fit the list. `top_p_goal`: what top_p has to exceed, if that is known.
fn from_list(args: u32, best: f32, min_key: u32, top_p_goal: vec2<u32>, settings: array<u32, SETTINGS>,
    local: u32) -> u32 {
    let top_k = settings[SETTING_TOP_K];
    let top_p = settings[SETTING_TOP_P];
    let everything = arg(args, SAMPLE_SLICE_COUNT) * arg(args, SAMPLE_SLICE_TOK) <= LONGEST;
    var goal = top_p_goal;
    var guessed = false; // the bound is a guess that may turn out too high
    var count = arg(args, SAMPLE_SLICE_COUNT);
    for (var i = local; i < count; i += THREADS) {
        store_shared_word(KEYS_AT + i, slice_key(args, i));
        atomicStore(&list_ids[i], i);
    }
    // The list: first the slices by their best, then the tokens that may be candidates, then the candidates by id.
    for (var stage = 0u; stage < 3u; stage++) {
        sort_list(count, stage == 2u, local);
        if (stage == 1u && top_k > 0u) { count = min(count, top_k); }
        var enough = NO_TOKEN;
        if (top_p > 0u || stage == 2u) {
            let scale = select(SCALE_OF_ONE, bitcast<f32>(settings[SETTING_SCALE]), stage == 2u);
            let series = Series(OF_LIST, count, 0u, best, scale);
            let total = sum_of(series, local);
            if (stage == 1u && top_k > 0u) { goal = portion(total, top_p); }
            if (stage == 2u) { goal = draw(args, total, settings[SETTING_SEED]); }
            enough = passes(series, goal).place;
        }
        enough = agree(enough, local);
        if (stage == 0u) {
            // The bound: the slices' best alone are enough tokens, or likely enough together.
            var bound = 1u;
            if (!everything && top_k > 0u && top_k <= count) { bound = shared_word(KEYS_AT + top_k - 1u); }
            if (!everything && top_p > 0u && top_k == 0u) {
                bound = shared_word(KEYS_AT + min(select(enough, GUESSED_SLICES - 1u, enough == NO_TOKEN), count - 1u));
            }
            // With both top_k and top_p, the likelihoods of all k are needed.
            if (top_p == 0u || top_k == 0u) { bound = max(bound, min_key); }
            bound = agree(bound, local);
            if (bound == 1u && !everything) { return NO_TOKEN; }
            guessed = !everything && top_p > 0u && top_k == 0u && enough == NO_TOKEN && bound > min_key;
            count = agree(list_from(args, bound, local), local);
            if (count > LONGEST) { return NO_TOKEN; }
        } else if (stage == 1u) {
            if (enough == NO_TOKEN && guessed) { return NO_TOKEN; }
            if (enough != NO_TOKEN) { count = enough + 1u; }
            count = agree(count_from(min_key, count, local), local);
        } else {
            return atomicLoad(&list_ids[enough]);
        }
    }
    return NO_TOKEN;
}

// The candidates: tokens with a higher key, and those with this key up to this id.
struct Kept {
    key: u32,
    id: u32,
}

// What a search looks for.
struct Wanted {
    by_id: bool,       // the running sum is by id, else by key from the highest
    scale: f32,        // of the likelihoods that are summed; 0: tokens are counted
    key_limit: u32,    // only keys up to this one
    goal: vec2<u32>,   // what the sum has to exceed, unless
    top_p: u32,        // not 0: it is this portion of all,
    drawn: bool,       // or a random part of it
}

// Adds to a bin; the thread that makes the low half overflow adds the carry.
fn add_to_bin(bin: u32, value: vec2<u32>) {
    let low = atomicAdd(&list_ids[bin], value.x);
    let carry = select(0u, 1u, low + value.x < low);
    if (value.y + carry > 0u) { atomicAdd(&list_ids[BINS + bin], value.y + carry); }
}

struct Searched {
    place: u32,       // the key or id where the sum exceeds the goal, or NO_TOKEN
    goal: vec2<u32>,  // what is left of the goal for the tokens there
    here: vec2<u32>,  // the sum over the tokens there
}

fn search(args: u32, kept: Kept, wanted: Wanted, best: f32, seed: u32, local: u32) -> Searched {
    let all = arg(args, SAMPLE_SLICE_COUNT) * arg(args, SAMPLE_SLICE_TOK);
    var low = select(kept.key, 0u, wanted.by_id);
    var high = select(wanted.key_limit, all - 1u, wanted.by_id);
    var goal = wanted.goal;
    let series = Series(OF_BINS, BINS, 0u, best, 0.0);
    var found = Searched(NO_TOKEN, goal, vec2<u32>(0u));
    for (var round = 0u; round < at_run_time(5u); round++) {
        let bits = 32u - countLeadingZeros(high - low);
        let shift = max(bits, 9u) - 9u;
        for (var i = local; i < 2u * BINS; i += THREADS) { atomicStore(&list_ids[i], 0u); }
        set_counter(0u, local);
        for (var i = local; i < arg(args, SAMPLE_SLICE_COUNT); i += THREADS) {
            let has_ids = !wanted.by_id || (i * arg(args, SAMPLE_SLICE_TOK) <= high &&
                (i + 1u) * arg(args, SAMPLE_SLICE_TOK) > low);
            if (has_ids && slice_key(args, i) >= select(low, kept.key, wanted.by_id)) {
                store_shared_word(SLICES_AT + atomicAdd(&counter, 1u), i);
            }
        }
        let tokens = counted() * arg(args, SAMPLE_SLICE_TOK);
        for (var i = local; i < tokens; i += 4u * THREADS) {
            let four = four_in_slices(args, i, tokens);
            for (var k = 0u; k < at_run_time(4u); k++) {
                let key = four[k];
                if (key == 0u || key < kept.key || key > wanted.key_limit) { continue; }
                let id = id_at(args, i + k * THREADS);
                let value = select(key, id, wanted.by_id);
                if ((key == kept.key && id > kept.id) || value < low || value > high) { continue; }
                var amount = vec2<u32>(1u, 0u);
                if (wanted.scale > 0.0) { amount = likelihood(key, best, wanted.scale); }
                let bin = (value - low) >> shift;
                add_to_bin(select(bin, BINS - 1u - bin, wanted.by_id), amount);
            }
        }
        let total = sum_of(series, local);
        if (round == 0u && wanted.top_p > 0u) { goal = portion(total, wanted.top_p); }
        if (round == 0u && wanted.drawn) { goal = draw(args, total, seed); }
        let passed = passes(series, goal);
        goal = subtract_wide(goal, passed.before);
        low += select(BINS - 1u - passed.place, passed.place, wanted.by_id) << shift;
        high = min(high, low + (1u << shift) - 1u);
        found = Searched(select(low, NO_TOKEN, passed.place == NO_TOKEN), goal, passed.here);
        if (agree(u32(found.place == NO_TOKEN || shift == 0u), local) == 1u) { break; }
    }
    return found;
}

// Each filter is a search by key and, among equals, by id; the draw is one by id.
fn by_search(args: u32, best_key: u32, best: f32, min_key: u32, top_p_goal: vec2<u32>, settings: array<u32, SETTINGS>,
    local: u32) -> u32 {
    let top_k = settings[SETTING_TOP_K];
    let top_p = settings[SETTING_TOP_P];
    var kept = Kept(1u, NO_TOKEN);
    var wanted = Wanted(false, 0.0, best_key, vec2<u32>(0u), 0u, false);
    var equals = 0u; // 1: not all tokens with the key that was found are candidates
    for (var stage = 0u; stage < at_run_time(5u); stage++) {
        if ((stage < 2u && top_k == 0u) || ((stage == 2u || stage == 3u) && top_p == 0u)) { continue; }
        switch (stage) {
            case 0u: { wanted.goal = vec2<u32>(top_k - 1u, 0u); }
            case 2u: {
                wanted = Wanted(false, SCALE_OF_ONE, best_key, top_p_goal, select(top_p, 0u, top_k == 0u), false);
            }
            case 4u: {
                if (min_key > kept.key) { kept = Kept(min_key, NO_TOKEN); }
                wanted = Wanted(true, bitcast<f32>(settings[SETTING_SCALE]), best_key, vec2<u32>(0u), 0u, true);
            }
            default: { // the lowest ids among the tokens with the key that was just found
                if (agree(equals, local) == 0u) { continue; }
                wanted.by_id = true;
                wanted.key_limit = kept.key;
                wanted.top_p = 0u;
            }
        }
        let found = search(args, kept, wanted, best, settings[SETTING_SEED], local);
        if (stage == 4u) { return found.place; }
        wanted.goal = found.goal;
        if (stage % 2u == 1u) {
            kept.id = found.place;
        } else {
            equals = 0u;
            if (found.place != NO_TOKEN) {
                var one = vec2<u32>(1u, 0u);
                if (stage == 2u) { one = likelihood(found.place, best, SCALE_OF_ONE); }
                equals = u32(less_wide(found.goal, subtract_wide(found.here, one)));
                kept = Kept(found.place, select(NO_TOKEN, kept.id, found.place == kept.key));
            }
        }
    }
    return NO_TOKEN;
}

fn best_of_slices(args: u32, local: u32) -> u32 {
    set_counter(0u, local);
    var mine = 0u;
    for (var i = local; i < arg(args, SAMPLE_SLICE_COUNT); i += THREADS) { mine = max(mine, slice_key(args, i)); }
    atomicMax(&counter, mine);
    return agree(counted(), local);
}

fn choose(args: u32, best_key: u32, local: u32) -> u32 {
    if (local < SETTINGS) { shared_settings[local] = load_word(arg(args, SAMPLE_SETTINGS) + local); }
    let settings = workgroupUniformLoad(&shared_settings);
    if (bitcast<f32>(settings[SETTING_SCALE]) <= 0.0) { return most_likely(args, best_key, local); }

    let best = logit_of(best_key);
    let min_log = bitcast<f32>(settings[SETTING_MIN_LOG]);
    let top_p = settings[SETTING_TOP_P];
    var goal = vec2<u32>(0u);
    if (settings[SETTING_TOP_K] == 0u && (top_p > 0u || min_log <= NO_MIN_LOG)) {
        let sums = Series(OF_SLICES, arg(args, SAMPLE_SLICE_COUNT), 0u, best,
            select(bitcast<f32>(settings[SETTING_SCALE]), SCALE_OF_ONE, top_p > 0u));
        weigh_slices(args, best, sums.scale, local);
        let total = sum_of(sums, local);
        if (top_p == 0u) { return from_all(args, sums, total, settings[SETTING_SEED], local); }
        goal = portion(total, top_p);
    }
    let min_key = select(key_of(tamed(bitcast<u32>(best + min_log))), 1u, min_log <= NO_MIN_LOG);
    if (COMPACT == 0u) {
        let token = agree(from_list(args, best, min_key, goal, settings, local), local);
        if (token != NO_TOKEN) { return token; }
    }
    return by_search(args, best_key, best, min_key, goal, settings, local);
}

fn body(args: u32, v: u32, local: u32) {
    let best_key = best_of_slices(args, local);
    let token = min(choose(args, best_key, local), arg(args, SAMPLE_VOCAB) - 1u);
    workgroupBarrier();
    if (local == 0u) {
        store_word(arg(args, ARG_OUT), token);
        if (arg(args, SAMPLE_APPEND) == 1u && arg(args, SAMPLE_HISTORY_TOK) > 0u) {
            store_word(arg(args, SAMPLE_HISTORY) + (load_word(arg(args, SAMPLE_POSITION)) +
                arg(args, SAMPLE_POSITION_PLUS)) % max(arg(args, SAMPLE_HISTORY_TOK), 1u),
                token | finiteness(best_key));
        }
    }
}
