// Attention for many rows, as op_attention.wgsl, for software with subgroups: neighbouring threads, which run as one
// vector, have neighbouring rows of a head. Every load there takes as long as one for each thread, even if all threads
// read the same word. So threads read different pairs of a key or a value, and broadcast them.
override THREADS = 8u; // one subgroup
override LOADS = 2u; // loads for all pairs of a head
override LOAD_VEC4S = 4u; // vec4s of which each load has the pairs
override HALVES = 1u; // 1: keys and values are f16; 0: f32
override CAPPED = 1u; // 0: scores have no cap
//!wgsl-only
//!include "graph.wgsl"

// Elements i and i+1 of the keys or values, which begin at word `base`.
fn pair_at(base: u32, i: u32) -> vec2<f32> {
    if (HALVES == 1u) { return unpack2x16float(state_word(base + i / 2u)); }
    return vec2<f32>(bitcast<f32>(state_word(base + i)), bitcast<f32>(state_word(base + i + 1u)));
}

// The loops are uniform: all threads read the same position. Compilers cannot see that.
@diagnostic(off, subgroup_uniformity)
fn body(args: u32, v: u32, local: u32) {
    let size = arg(args, ATTENTION_HEAD_SIZE);
    let heads = arg(args, ATTENTION_HEADS);
    let head = v % heads;
    let row = v / heads * THREADS + local;
    let stride = arg(args, ATTENTION_KV_HEADS) * size;
    let kv = head / (heads / arg(args, ATTENTION_KV_HEADS)) * size;
    // A position beyond the cache must not lead out of it.
    let capacity = arg(args, ATTENTION_CAPACITY);
    let position = load_word(arg(args, ATTENTION_POSITION)) + v / heads * THREADS; // of the first row
    let last = min(position + local, capacity - 1u);
    let window = select(capacity, arg(args, ATTENTION_WINDOW), arg(args, ATTENTION_WINDOW) > 0u);
    let first = last + 1u - min(window, last + 1u);
    // Of the positions that any row sees, the first and the last one.
    let lowest = min(position, capacity - 1u) + 1u - min(window, min(position, capacity - 1u) + 1u);
    let highest = min(position + THREADS - 1u, capacity - 1u);
    // Rows beyond the last compute the last again.
    let q_at = arg(args, ARG_X) + (min(row, arg(args, ATTENTION_ROWS) - 1u) * heads + head) * size;
    var most = -3.4e38;
    var total = 0.0;
    if (arg(args, ATTENTION_SINKS) > 0u) {
        most = load(arg(args, ATTENTION_SINKS) - 1u + head);
        total = 1.0;
    }
//!for g LOADS
    let at_#g = kv + min(2u * (#gu * THREADS + local), size - 2u); // the pair that this thread reads
//!for e LOAD_VEC4S
    var q_#g_#e = vec4<f32>();
    var value_#g_#e = vec4<f32>();
//!end
//!end
    for (var i = 0u; i < size; i += 4u) {
        var four = vec4<f32>();
        for (var j = 0u; j < min(4u, size - i); j++) { four[j] = load(q_at + i + j); }
        four *= arg_float(args, ATTENTION_SCALE);
//!for g LOADS
//!for e LOAD_VEC4S
        if (i == 4u * (#gu * LOAD_VEC4S + #eu)) { q_#g_#e = four; }
//!end
//!end
    }
    for (var p = lowest; p <= highest; p += 4u) {
        var scores = vec4<f32>();
        for (var j = 0u; j < at_run_time(4u); j++) {
            let key = arg(args, ATTENTION_KEYS);
            let there = min(p + j, highest) * stride;
            var score = 0.0;
//!for g LOADS
            let pair_#g = pair_at(key, there + at_#g);
//!for e LOAD_VEC4S
            score += dot(q_#g_#e,
                vec4<f32>(subgroupBroadcast(pair_#g, 2u * #eu), subgroupBroadcast(pair_#g, 2u * #eu + 1u)));
//!end
//!end
            scores[j] = score;
        }
//!for _ CAPPED
        if (arg_float(args, ATTENTION_SOFTCAP) > 0.0) {
            scores = arg_float(args, ATTENTION_SOFTCAP) *
                tanh(clamp(scores / arg_float(args, ATTENTION_SOFTCAP), vec4<f32>(-15.0), vec4<f32>(15.0)));
        }
//!end
        let positions = vec4<u32>(0u, 1u, 2u, 3u) + p;
        let seen = (positions >= vec4<u32>(first)) & (positions <= vec4<u32>(last));
        scores = select(vec4<f32>(-3.4e38), scores, seen);
        let higher = max(max(most, max(scores.x, scores.y)), max(scores.z, scores.w));
        let parts = select(vec4<f32>(), exp(scores - higher), seen);
        let rescale = exp(most - higher);
        most = higher;
        total = total * rescale + dot(parts, vec4<f32>(1.0));
//!for g LOADS
//!for e LOAD_VEC4S
        value_#g_#e *= rescale;
//!end
//!end
        for (var j = 0u; j < at_run_time(4u); j++) {
            let there = min(p + j, highest) * stride;
//!for g LOADS
            let pair_#g = pair_at(arg(args, ATTENTION_VALUES), there + at_#g);
//!for e LOAD_VEC4S
            value_#g_#e += parts[j] *
                vec4<f32>(subgroupBroadcast(pair_#g, 2u * #eu), subgroupBroadcast(pair_#g, 2u * #eu + 1u));
//!end
//!end
        }
    }
    if (row < arg(args, ATTENTION_ROWS)) {
        let out = arg(args, ARG_OUT) + (row * heads + head) * size;
        for (var i = 0u; i < size; i += 4u) {
            var four = vec4<f32>();
//!for g LOADS
//!for e LOAD_VEC4S
            if (i == 4u * (#gu * LOAD_VEC4S + #eu)) { four = value_#g_#e; }
//!end
//!end
            for (var j = 0u; j < min(4u, size - i); j++) { store(out + i + j, four[j] / total); }
        }
    }
}
