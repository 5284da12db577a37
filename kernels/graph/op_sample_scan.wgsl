// The first half of sampling a token, by many workgroups: logits with their penalties become keys, and for each slice
// of the vocabulary its best key and the sum of its likelihoods are written, so that op_sample.wgsl reads few of the
// keys; at temperature 0 it reads none, and none are written. 64 threads work on a slice. Arithmetic:
// include/sample.wgsl.
override THREADS = 256u;
//!include "graph.wgsl"
//!include "shared_x.wgsl"
//!include "sample.wgsl"

// Sets a bit for each recent token of these slices, in list_ids.
fn flag_recent(args: u32, first: u32, tokens: u32, local: u32) {
    atomicStore(&list_ids[local], 0u);
    workgroupBarrier();
    let so_far = load_word(arg(args, SAMPLE_POSITION)) + arg(args, SAMPLE_POSITION_PLUS);
    let recent = min(min(load_word(arg(args, SAMPLE_SETTINGS) + SETTING_RECENT), so_far),
        arg(args, SAMPLE_HISTORY_TOK));
    for (var i = local; i < recent; i += THREADS) {
        let place = load_word(arg(args, SAMPLE_HISTORY) + (so_far - 1u - i) % max(arg(args, SAMPLE_HISTORY_TOK), 1u)) -
            first;
        if (place < tokens) { atomicOr(&list_ids[place / 32u], 1u << (place % 32u)); }
    }
    workgroupBarrier();
}

fn setting(args: u32, which: u32) -> f32 { return bitcast<f32>(load_word(arg(args, SAMPLE_SETTINGS) + which)); }

// The bits of a logit, for which a thread waits if this run computes it.
fn logit_bits(args: u32, at: u32) -> u32 {
    var bits = bits_at(at);
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        if (arg(args, SAMPLE_LOGITS_COMPUTED) != 1u || is_stale(bits) == 0u || !keep_spinning(spins)) { break; }
        bits = bits_at(at);
    }
    return bits & ~EPOCH_BIT;
}

// `factors`: of recent logits up to 0, and of those above 0.
fn key_at(args: u32, id: u32, first: u32, factors: vec2<f32>) -> u32 {
    if (id >= arg(args, SAMPLE_VOCAB)) { return 0u; }
    let tame = tamed(logit_bits(args, arg(args, SAMPLE_LOGITS) + id));
    let place = id - first;
    let logit = bitcast<f32>(tame);
    let factor = select(factors.y, factors.x, logit <= 0.0);
    let recent = (atomicLoad(&list_ids[place / 32u]) >> (place % 32u)) % 2u == 1u;
    return key_of(select(tame, tamed(bitcast<u32>(logit * factor)), recent));
}

// Four keys at a time, so that their loads are in flight together.
fn four_keys(args: u32, id: u32, first: u32, factors: vec2<f32>) -> vec4<u32> {
    if (COMPACT == 1u) {
        var four = vec4<u32>();
        for (var left = at_run_time(4u); left > 0u; left--) {
            let k = 4u - left;
            four[k] = key_at(args, id + k * LANES, first, factors);
        }
        return four;
    }
    return vec4<u32>(key_at(args, id, first, factors), key_at(args, id + LANES, first, factors),
        key_at(args, id + 2u * LANES, first, factors),
                     key_at(args, id + 3u * LANES, first, factors));
}

fn body(args: u32, v: u32, local: u32) {
    let slices = THREADS / LANES;
    let size = at_run_time(arg(args, SAMPLE_SLICE_TOK));
    let lane = local % LANES;
    let slice = v * slices + local / LANES;
    let first = v * slices * size;
    let factors = vec2<f32>(setting(args, SETTING_PENALTY), setting(args, SETTING_REWARD));
    let drawn = setting(args, SETTING_SCALE) > 0.0;
    flag_recent(args, first, slices * size, local);

    var best = 0u;
    var place = 0xffffffffu;
    var four = vec4<u32>(0u);
    for (var i = 0u; i < size; i += 4u * LANES) {
        let id = slice * size + i + lane;
        four = four_keys(args, id, first, factors);
        for (var left = at_run_time(4u); left > 0u; left--) {
            let k = 4u - left;
            if (slice < arg(args, SAMPLE_SLICE_COUNT) && drawn) {
                store_word(arg(args, SAMPLE_KEYS) + id + k * LANES, four[k]);
            }
            if (four[k] > best) { best = four[k]; place = id + k * LANES; }
        }
    }
    store_shared_word(KEYS_AT + local, best);
    store_shared_word(SLICES_AT + local, place);
    workgroupBarrier();
    for (var half = at_run_time(LANES / 2u); half > 0u; half /= 2u) {
        if (lane < half) {
            let other = local + half;
            let key = shared_word(KEYS_AT + other);
            if (key > shared_word(KEYS_AT + local) ||
                (key == shared_word(KEYS_AT + local) && shared_word(SLICES_AT + other) < shared_word(SLICES_AT +
                    local))) {
                store_shared_word(KEYS_AT + local, key);
                store_shared_word(SLICES_AT + local, shared_word(SLICES_AT + other));
            }
        }
        workgroupBarrier();
    }
    let best_key = shared_word(KEYS_AT + local - lane);
    let best_place = shared_word(SLICES_AT + local - lane);
    workgroupBarrier();

    // All likelihoods are needed only for top_p without top_k, at temperature 1, and without filters, at the
    // temperature.
    let scale = select(setting(args, SETTING_SCALE), SCALE_OF_ONE,
        load_word(arg(args, SAMPLE_SETTINGS) + SETTING_TOP_P) > 0u);
    var sum = vec2<u32>(0u);
    if (drawn && load_word(arg(args, SAMPLE_SETTINGS) + SETTING_TOP_K) == 0u) {
        let logit = logit_of(best_key);
        for (var i = 0u; i < size; i += 4u * LANES) {
            if (size > 4u * LANES) { four = four_keys(args, slice * size + i + lane, first, factors); }
            for (var left = at_run_time(4u); left > 0u; left--) {
                let k = 4u - left;
                sum = add_wide(sum, likelihood(four[k], logit, scale));
            }
        }
    }
    store_shared_word(KEYS_AT + local, sum.x);
    store_shared_word(SLICES_AT + local, sum.y);
    workgroupBarrier();
    for (var half = at_run_time(LANES / 2u); half > 0u; half /= 2u) {
        if (lane < half) {
            sum = add_wide(sum, vec2<u32>(shared_word(KEYS_AT + local + half), shared_word(SLICES_AT + local + half)));
            store_shared_word(KEYS_AT + local, sum.x);
            store_shared_word(SLICES_AT + local, sum.y);
        }
        workgroupBarrier();
    }
    if (lane == 0u && slice < arg(args, SAMPLE_SLICE_COUNT)) {
        let out = arg(args, SAMPLE_SLICES) + SLICE_SIZE * slice;
        store_word(out + SLICE_BEST_KEY, best_key);
        store_word(out + SLICE_BEST_ID, best_place);
        store_word(out + SLICE_SUM_LOW, sum.x);
        store_word(out + SLICE_SUM_HIGH, sum.y);
    }
}
