// The gated delta rule: graph_delta of src/graph/graph.h. A workgroup has a head, or some columns of its matrix, and a
// thread a column, for all rows and in every run: no other reads what it writes into the state. Each thread adds up in
// the same order, so that nothing depends on how many there are.
override THREADS = 128u;
//!include "graph.wgsl"
//!include "polled.wgsl"
const MAX_KEY = 256u;
var<workgroup> keys: array<vec2<f32>, MAX_KEY>; // an element of k and one of q
//!for _ ALONE
var<workgroup> delta_rows: u32;
//!end

fn body(args: u32, v: u32, local: u32) {
    let size = arg(args, DELTA_VALUE_SIZE);
    let key_size = at_run_time(arg(args, DELTA_KEY_SIZE));
    let key_heads = arg(args, DELTA_KEY_HEADS);
    let heads = arg(args, DELTA_HEADS);
    let parts = (size + THREADS - 1u) / THREADS;
//!for _ ALONE
    let head = v / parts;
//!end
//!for _ SLOTTED
    let text = v / parts / heads; // each has one row, and matrices of its own
    let head = v / parts % heads;
//!end
    let column = v % parts * THREADS + local;
    var shared_head = head / (heads / key_heads);
    if (arg(args, DELTA_TILED) == 1u) { shared_head = head % key_heads; }
    let width = 2u * key_heads * key_size + heads * size;
    let computed = arg(args, DELTA_X_COMPUTED) == 1u;
//!for _ SLOTTED
    let state = arg(args, DELTA_STATE) + (text * heads + head) * key_size * size + column;
    let fresh = load_word(arg(args, DELTA_POSITION) + text) == 0u;
    for (var row = text; row <= text; row++) {
//!end
//!for _ ALONE
    let state = arg(args, DELTA_STATE) + head * key_size * size + column;
    let fresh = load_word(arg(args, DELTA_POSITION)) == 0u;
    if (local == 0u) { // read by one thread for all, so that the loop below is uniform
        delta_rows = arg(args, DELTA_ROWS);
        if (arg(args, DELTA_LAST) > 0u) { delta_rows = min(delta_rows, load_word(arg(args, DELTA_LAST) - 1u) + 1u); }
    }
    let count = workgroupUniformLoad(&delta_rows);
    for (var row = 0u; row < count; row++) {
//!end
        let q = arg(args, ARG_X) + row * width + shared_head * key_size;
        for (var i = local; i < key_size; i += THREADS) {
            keys[i] = vec2<f32>(polled(q + key_heads * key_size + i, computed), polled(q + i, computed));
        }
        workgroupBarrier();
        if (column < size) {
            let alpha = polled(arg(args, DELTA_ALPHA) + row * heads + head, arg(args, DELTA_ALPHA_COMPUTED) == 1u);
            let beta = polled(arg(args, DELTA_BETA) + row * heads + head, arg(args, DELTA_BETA_COMPUTED) == 1u);
            let decay = exp(load(arg(args, DELTA_RATE) + head) * (max(alpha, 0.0) + log(1.0 + exp(-abs(alpha)))));
//!for _ ALONE
            let zeros = fresh && row == 0u;
//!end
//!for _ SLOTTED
            let zeros = fresh;
//!end
            var squares = vec2<f32>(); // of k and of q
            var known = 0.0; // what the matrix has for k
            for (var i = 0u; i < key_size; i++) {
                let k = keys[i];
                squares = fma(k, k, squares);
                if (!zeros) { known = fma(bitcast<f32>(state_word(state + i * size)), k.x, known); }
            }
            let scale = inverseSqrt(squares + vec2<f32>(1e-6));
            let v_at = arg(args, ARG_X) + row * width + 2u * key_heads * key_size + head * size + column;
            let change = fma(-(known * decay), scale.x, polled(v_at, computed)) * scale.x / (1.0 + exp(-beta));
            var sum = 0.0;
            for (var i = 0u; i < key_size; i++) {
                var old = 0.0;
                if (!zeros) { old = bitcast<f32>(state_word(state + i * size)) * decay; }
                let changed = fma(keys[i].x, change, old);
                store_state_word(state + i * size, bitcast<u32>(changed));
                sum = fma(changed, keys[i].y, sum);
            }
            store(arg(args, ARG_OUT) + (row * heads + head) * size + column,
                sum * scale.y * inverseSqrt(f32(key_size)));
        }
        workgroupBarrier(); // before the keys of the next row
    }
//!for _ ALONE
    for (var row = count; row < arg(args, DELTA_ROWS) && column < size; row++) {
        store(arg(args, ARG_OUT) + (row * heads + head) * size + column, 0.0);
    }
//!end
}
