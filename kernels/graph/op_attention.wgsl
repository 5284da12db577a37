// Attention of one head of one row over the positions that it sees, in one pass: the running maximum, sum and values
// are rescaled when larger scores come. Several workgroups may share the positions of a head (splits); their partial
// results are combined by op_attention_combine.wgsl, or by the matrix product that reads them. Sums of products are
// written as fma: left to compilers, they may be fused in one kernel and not in another.
override THREADS = 256u;
const TEAM = 32u;
const LANES = 4u; // threads that share a position's score
const BLOCK = THREADS / LANES; // positions at a time
override MAX_SIZE = 256u; // elements of a head that there is room for
override HALVES = 2u; // keys and values are 0: f32; 1, 3, 4: as in include/cache.wgsl; 2: ATTENTION_CACHE says what
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "inverse.wgsl"
//!include "reduce_REDUCE.wgsl"
//!include "attention.wgsl"
//!include "cache.wgsl"
//!for _ SLOTTED
//!include "slots.wgsl"
//!end
var<workgroup> q: array<vec2<f32>, MAX_SIZE / 2u>;
var<workgroup> scores: array<f32, THREADS>; // at the end, sums of values

// Elements 2i and 2i+1 of the head that begins at element `at` of the keys or values, which begin at word `base`.
fn pair_at(args: u32, base: u32, at: u32, i: u32) -> vec2<f32> {
    if (HALVES == 1u || (HALVES == 2u && arg(args, ATTENTION_CACHE) == CACHE_F16)) {
        return unpack2x16float(state_word(base + at / 2u + i));
    }
    if (HALVES >= CACHE_Q8_0) { return cache_pair(HALVES, base, at + 2u * i); }
    if (HALVES == 2u && arg(args, ATTENTION_CACHE) >= CACHE_Q8_0) {
        return cache_pair(arg(args, ATTENTION_CACHE), base, at + 2u * i);
    }
    return vec2<f32>(bitcast<f32>(state_word(base + at + 2u * i)), bitcast<f32>(state_word(base + at + 2u * i + 1u)));
}

fn capped(args: u32, score: f32) -> f32 {
    let cap = arg_float(args, ATTENTION_SOFTCAP);
    if (cap > 0.0) { return cap * tanh(clamp(score / cap, -15.0, 15.0)); }
    return score;
}

// Read by one thread for all, so that the loop below is uniform.
var<workgroup> position_of_row: u32;

fn body(args: u32, v: u32, local: u32) {
    let size = at_run_time(arg(args, ATTENTION_HEAD_SIZE));
    let pairs = size / 2u;
    let row = v / arg(args, ATTENTION_SPLITS); // of q: one head of one row
//!for _ ALONE
    if (local == 0u) { position_of_row = load_word(arg(args, ATTENTION_POSITION)); }
//!end
//!for _ SLOTTED
    if (local == 0u) { position_of_row = slot_position(args, row / arg(args, ATTENTION_HEADS)); }
//!end
    for (var i = local; i < pairs; i += THREADS) {
        let at = arg(args, ARG_X) + row * size + 2u * i;
        let computed = arg(args, ATTENTION_Q_COMPUTED) == 1u;
        q[i] = vec2<f32>(polled(at, computed), polled(at + 1u, computed)) * arg_float(args, ATTENTION_SCALE);
    }
    let position = workgroupUniformLoad(&position_of_row); // also a barrier
    let stride = arg(args, ATTENTION_KV_HEADS) * size;
    let kv = row % arg(args, ATTENTION_HEADS) / (arg(args, ATTENTION_HEADS) / arg(args, ATTENTION_KV_HEADS)) * size;
//!for _ ALONE
    // A position beyond the cache must not lead out of it.
    let last = min(position + row / arg(args, ATTENTION_HEADS), arg(args, ATTENTION_CAPACITY) - 1u);
    let seen = select(last + 1u, min(arg(args, ATTENTION_WINDOW), last + 1u), arg(args, ATTENTION_WINDOW) > 0u);
//!end
//!for _ SLOTTED
    let seen = select(position + 1u, min(arg(args, ATTENTION_WINDOW), position + 1u),
        arg(args, ATTENTION_WINDOW) > 0u);
    let last = row / arg(args, ATTENTION_HEADS) * arg(args, ATTENTION_CAPACITY) + position;
//!end
    let share = share_of(seen, arg(args, ATTENTION_SPLITS));
    let first = last + 1u - seen + v % arg(args, ATTENTION_SPLITS) * share;
    let end = min(first + share, last + 1u);
    // The threads that add up values: each has two elements of the head, and every `groups`-th position.
    let value_size = arg(args, ATTENTION_VALUE_SIZE);
    let value_pairs = value_size / 2u;
    let groups = THREADS / value_pairs;
    let mine = local / value_pairs;
    let element = local % value_pairs;
    var most = -3.4e38;
    var total = 0.0;
    if (arg(args, ATTENTION_SINKS) > 0u && v % arg(args, ATTENTION_SPLITS) == 0u) {
        most = load(arg(args, ATTENTION_SINKS) - 1u + row % arg(args, ATTENTION_HEADS));
        total = 1.0;
    }
    var value = vec2<f32>();
    for (var block = first; block < end; block += BLOCK) {
        var dot2 = vec2<f32>();
        let p = block + local / LANES;
        if (p < end) {
            let at = p * stride + kv;
            var i = local % LANES;
            // Four at a time, so that their loads are in flight together.
            for (; i + 3u * LANES < pairs; i += 4u * LANES) {
                if (COMPACT == 1u) {
                    var four = vec2<f32>();
                    for (var j = i; j < i + at_run_time(4u * LANES); j += LANES) {
                        four = fma(q[j], pair_at(args, arg(args, ATTENTION_KEYS), at, j), four);
                    }
                    dot2 += four;
                    continue;
                }
                let a = pair_at(args, arg(args, ATTENTION_KEYS), at, i);
                let b = pair_at(args, arg(args, ATTENTION_KEYS), at, i + LANES);
                let c = pair_at(args, arg(args, ATTENTION_KEYS), at, i + 2u * LANES);
                let d = pair_at(args, arg(args, ATTENTION_KEYS), at, i + 3u * LANES);
                dot2 = fma(q[i + 3u * LANES], d, fma(q[i + 2u * LANES], c, fma(q[i + LANES], b, fma(q[i], a, dot2))));
            }
            for (; i < pairs; i += LANES) { dot2 = fma(q[i], pair_at(args, arg(args, ATTENTION_KEYS), at, i), dot2); }
        }
        scores[local] = dot2.x + dot2.y;
        workgroupBarrier();
        var score = -3.4e38;
        if (local < BLOCK && block + local < end) {
            var sum = 0.0;
            for (var i = 0u; i < at_run_time(LANES); i++) { sum += scores[local * LANES + i]; }
            score = capped(args, sum);
        }
        let higher = max(most, max_of_all(score, local));
        let e = select(0.0, exp(score - higher), local < BLOCK && block + local < end);
        scores[local] = e;
        let rescale = exp(most - higher);
        total = fma(total, rescale, sum_of_all(e, local));
        most = higher;
        value *= rescale;
        if (mine < groups) {
            let seen_here = min(BLOCK, end - block);
            let at = block * stride + kv;
            var i = mine;
            for (; i + 3u * groups < seen_here; i += 4u * groups) {
                if (COMPACT == 1u) {
                    var four = vec2<f32>();
                    for (var j = i; j < i + 4u * groups; j += groups) {
                        four = fma(vec2<f32>(scores[j]), pair_at(args, arg(args, ATTENTION_VALUES), at + j * stride,
                            element), four);
                    }
                    value += four;
                    continue;
                }
                let a = pair_at(args, arg(args, ATTENTION_VALUES), at + i * stride, element);
                let b = pair_at(args, arg(args, ATTENTION_VALUES), at + (i + groups) * stride, element);
                let c = pair_at(args, arg(args, ATTENTION_VALUES), at + (i + 2u * groups) * stride, element);
                let d = pair_at(args, arg(args, ATTENTION_VALUES), at + (i + 3u * groups) * stride, element);
                value = fma(vec2<f32>(scores[i + 3u * groups]), d, fma(vec2<f32>(scores[i + 2u * groups]), c,
                    fma(vec2<f32>(scores[i + groups]), b, fma(vec2<f32>(scores[i]), a, value))));
            }
            for (; i < seen_here; i += groups) {
                value = fma(vec2<f32>(scores[i]), pair_at(args, arg(args, ATTENTION_VALUES), at + i * stride, element),
                    value);
            }
        }
        workgroupBarrier();
    }
    // One element of the pairs after the other: that needs half the workgroup memory.
    scores[local] = value.x;
    workgroupBarrier();
    if (local < value_pairs) {
        for (var g = 1u; g < groups; g++) { value.x += scores[g * value_pairs + local]; }
    }
    workgroupBarrier();
    scores[local] = value.y;
    workgroupBarrier();
    if (local < value_pairs) {
        for (var g = 1u; g < groups; g++) { value.y += scores[g * value_pairs + local]; }
        if (arg(args, ATTENTION_SPLITS) == 1u) {
            store(arg(args, ARG_OUT) + row * value_size + 2u * local, value.x * inverse_of(total));
            store(arg(args, ARG_OUT) + row * value_size + 2u * local + 1u, value.y * inverse_of(total));
        } else {
            store(arg(args, ARG_OUT) + v * (value_size + 2u) + 2u * local, value.x);
            store(arg(args, ARG_OUT) + v * (value_size + 2u) + 2u * local + 1u, value.y);
        }
    }
    if (arg(args, ATTENTION_SPLITS) > 1u && local == 0u) {
        store(arg(args, ARG_OUT) + v * (value_size + 2u) + value_size, most);
        store(arg(args, ARG_OUT) + v * (value_size + 2u) + value_size + 1u, total);
    }
}
