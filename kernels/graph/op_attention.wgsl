// One head of one row over the positions it sees, in one pass over them: the running maximum and sum are mended as
// larger scores come. A workgroup for each; a thread for each of its positions, then for each element.
// Arguments: 0 rows * heads, 1 out, 2 q, 3 size of a head, 4 heads, 5 stored heads, 6 position, 7 scale, 8 softcap,
// 9 window, 10 where the keys begin (elements), 11 the values, 12 they are f16, 13 rows stored.
//!include "graph.wgsl"
const MAX_SIZE = 256u;
var<workgroup> scores: array<f32, THREADS>;
var<workgroup> sums: array<f32, MAX_SIZE>;

fn score(q: u32, key: u32) -> f32 {
    var dot = 0.0;
    for (var i = 0u; i < arg(3); i++) { dot += load(q + i) * load_state(key + i, arg(12)); }
    dot *= arg_float(7);
    let cap = arg_float(8);
    if (cap > 0.0) { dot = cap * tanh(clamp(dot / cap, -15.0, 15.0)); }
    return dot;
}

// Read by one thread and told to all, so that the loop below is the same for everyone.
var<workgroup> position_of_row: u32;

fn body(v: u32, local: u32) {
    if (local == 0u) { position_of_row = load_word(arg(6)); }
    let size = arg(3);
    let stride = arg(5) * size;
    let kv = v % arg(4) / (arg(4) / arg(5)) * size;
    // arg(13) bounds it: a position beyond the cache must not lead out of it.
    let last = min(workgroupUniformLoad(&position_of_row) + v / arg(4), arg(13) - 1u);
    let first = select(0u, last + 1u - arg(9), arg(9) > 0u && last + 1u > arg(9));
    for (var i = local; i < size; i += THREADS) { sums[i] = 0.0; }
    var most = -3.4e38;
    var total = 0.0;
    for (var tile = first; tile <= last; tile += THREADS) {
        let p = tile + local;
        var s = -3.4e38;
        if (p <= last) { s = score(arg(2) + v * size, arg(10) + p * stride + kv); }
        let higher = max(most, max_of_all(s, local));
        let mend = exp(most - higher);
        let e = select(0.0, exp(s - higher), p <= last);
        scores[local] = e;
        total = total * mend + sum_of_all(e, local);
        most = higher;
        let seen = min(THREADS, last + 1u - tile);
        for (var i = local; i < size; i += THREADS) {
            var value = sums[i] * mend;
            for (var k = 0u; k < seen; k++) { value += scores[k] * load_state(arg(11) + (tile + k) * stride + kv + i, arg(12)); }
            sums[i] = value;
        }
        workgroupBarrier();
    }
    for (var i = local; i < size; i += THREADS) { store(arg(1) + v * size + i, sums[i] / total); }
}
