// Attention for few rows, as op_attention.wgsl, for software, which compiles this in a fifth of the time: a thread has
// four elements of a head to itself, and computes the scores for itself, four positions at a time. It is never split.
override THREADS = 32u;
override HALVES = 1u; // 1: keys and values are f16; 0: f32
override CAPPED = 1u; // 0: scores have no cap
//!wgsl-only
//!include "graph.wgsl"
//!for _ SLOTTED
//!include "slots.wgsl"
//!end

// Elements i and i+1 of the keys or values, which begin at word `base`.
fn pair_at(base: u32, i: u32) -> vec2<f32> {
    if (HALVES == 1u) { return unpack2x16float(state_word(base + i / 2u)); }
    return vec2<f32>(bitcast<f32>(state_word(base + i)), bitcast<f32>(state_word(base + i + 1u)));
}

fn body(args: u32, v: u32, local: u32) {
    let size = arg(args, ATTENTION_HEAD_SIZE);
    let stride = arg(args, ATTENTION_KV_HEADS) * size;
    let head = v % arg(args, ATTENTION_HEADS) / (arg(args, ATTENTION_HEADS) / arg(args, ATTENTION_KV_HEADS)) * size;
//!for _ ALONE
    // A position beyond the cache must not lead out of it.
    let last = min(load_word(arg(args, ATTENTION_POSITION)) + v / arg(args, ATTENTION_HEADS),
        arg(args, ATTENTION_CAPACITY) - 1u);
    let seen = select(last + 1u, min(arg(args, ATTENTION_WINDOW), last + 1u), arg(args, ATTENTION_WINDOW) > 0u);
//!end
//!for _ SLOTTED
    let slot = v / arg(args, ATTENTION_HEADS);
    let position = slot_position(args, slot);
    let seen = select(position + 1u, min(arg(args, ATTENTION_WINDOW), position + 1u),
        arg(args, ATTENTION_WINDOW) > 0u);
    let last = slot * arg(args, ATTENTION_CAPACITY) + position;
//!end
    for (var mine = local * 4u; mine < size; mine += THREADS * 4u) {
        var most = -3.4e38;
        var total = 0.0;
        if (arg(args, ATTENTION_SINKS) > 0u) {
            most = load(arg(args, ATTENTION_SINKS) - 1u + v % arg(args, ATTENTION_HEADS));
            total = 1.0;
        }
        var value = vec4<f32>();
        for (var p = last + 1u - seen; p <= last; p += 4u) {
            var scores = vec4<f32>();
            for (var i = 0u; i < size; i += 2u) {
                let q = vec2<f32>(load(arg(args, ARG_X) + v * size + i), load(arg(args, ARG_X) + v * size + i + 1u));
                for (var j = 0u; j < at_run_time(4u); j++) {
                    scores[j] += dot(q, pair_at(arg(args, ATTENTION_KEYS), min(p + j, last) * stride + head + i));
                }
            }
            scores *= arg_float(args, ATTENTION_SCALE);
//!for _ CAPPED
            if (arg_float(args, ATTENTION_SOFTCAP) > 0.0) {
                scores = arg_float(args, ATTENTION_SOFTCAP) *
                    tanh(clamp(scores / arg_float(args, ATTENTION_SOFTCAP), vec4<f32>(-15.0), vec4<f32>(15.0)));
            }
//!end
            let there = vec4<u32>(0u, 1u, 2u, 3u) + p <= vec4<u32>(last);
            scores = select(vec4<f32>(-3.4e38), scores, there);
            let higher = max(max(most, max(scores.x, scores.y)), max(scores.z, scores.w));
            var parts = select(vec4<f32>(), exp(scores - higher), there);
            let rescale = exp(most - higher);
            most = higher;
            total = total * rescale + dot(parts, vec4<f32>(1.0));
            value *= rescale;
            for (var j = 0u; j < at_run_time(4u); j++) {
                let at = min(p + j, last) * stride + head + mine;
                value += parts[j] * vec4<f32>(pair_at(arg(args, ATTENTION_VALUES), at),
                    pair_at(arg(args, ATTENTION_VALUES), at + 2u));
            }
        }
        for (var j = 0u; j < at_run_time(4u); j++) {
            store(arg(args, ARG_OUT) + v * size + mine + j, value[j] / total);
        }
    }
}
