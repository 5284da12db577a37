// Attention among the rows of a whole text, which no cache holds: one head of one row over the rows that it sees, BLOCK
// of them at a time. The running maximum, sum and values are rescaled when larger scores come. Each thread adds up all
// scores of a block by itself, in their order, so that sums do not depend on the number of threads.
override THREADS = 64u;
const BLOCK = 64u;
const WHOLE_SIZE = 256u; // elements of a head that there is room for
//!include "graph.wgsl"
var<workgroup> whole_q: array<f32, WHOLE_SIZE>;
var<workgroup> whole_value: array<f32, WHOLE_SIZE>; // each element belongs to one thread
var<workgroup> whole_scores: array<f32, BLOCK>;
// Read by one thread for all, so that the loop below is uniform.
var<workgroup> whole_last: u32;

fn body(args: u32, v: u32, local: u32) {
    let size = arg(args, WHOLE_HEAD_SIZE);
    let stride = arg(args, WHOLE_KV_HEADS) * size;
    let kv = v % arg(args, WHOLE_HEADS) / (arg(args, WHOLE_HEADS) / arg(args, WHOLE_KV_HEADS)) * size;
    workgroupBarrier(); // the workgroup before has read all of it
    if (local == 0u) { whole_last = min(load_word(arg(args, WHOLE_LAST)), arg(args, WHOLE_ROWS) - 1u); }
    for (var i = local; i < size; i += THREADS) {
        whole_q[i] = load(arg(args, ARG_X) + v * size + i) * arg_float(args, WHOLE_SCALE);
        whole_value[i] = 0.0;
    }
    let last = workgroupUniformLoad(&whole_last); // also a barrier
    let own = min(v / arg(args, WHOLE_HEADS), last);
    let window = select(last + 1u, min(arg(args, WHOLE_WINDOW), last + 1u), arg(args, WHOLE_WINDOW) > 0u);
    let first = own + 1u - min(window, own + 1u);
    let end = select(min(own + window, last + 1u), own + 1u, arg(args, WHOLE_CAUSAL) == 1u);
    let cap = arg_float(args, WHOLE_SOFTCAP);
    var most = -3.4e38;
    var total = 0.0;
    for (var block = first; block < end; block += BLOCK) {
        let count = min(BLOCK, end - block);
        for (var p = local; p < count; p += THREADS) {
            let at = arg(args, WHOLE_KEYS) + (block + p) * stride + kv;
            var score = 0.0;
            for (var i = 0u; i < size; i++) { score = fma(whole_q[i], load(at + i), score); }
            if (cap > 0.0) { score = cap * tanh(clamp(score / cap, -15.0, 15.0)); }
            whole_scores[p] = score;
        }
        workgroupBarrier();
        var higher = most;
        for (var p = 0u; p < count; p++) { higher = max(higher, whole_scores[p]); }
        let rescale = exp(most - higher);
        most = higher;
        total *= rescale;
        workgroupBarrier();
        for (var p = local; p < count; p += THREADS) { whole_scores[p] = exp(whole_scores[p] - higher); }
        workgroupBarrier();
        for (var p = 0u; p < count; p++) { total += whole_scores[p]; }
        for (var i = local; i < size; i += THREADS) {
            var value = whole_value[i] * rescale;
            for (var p = 0u; p < count; p++) {
                value = fma(whole_scores[p], load(arg(args, WHOLE_VALUES) + (block + p) * stride + kv + i), value);
            }
            whole_value[i] = value;
        }
        workgroupBarrier();
    }
    for (var i = local; i < size; i += THREADS) { store(arg(args, ARG_OUT) + v * size + i, whole_value[i] / total); }
}
