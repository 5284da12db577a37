// Which experts each row gets: those with the largest scores, and a weight for each, the softmax over the chosen scores
// or over all of them. A score's rank is the number of scores that come before it (larger, or equal and further to the
// front), so that threads need not wait for each other from one choice to the next. Sums have an order that does not
// depend on the number of threads.
override THREADS = 256u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "floats.wgsl"
//!include "shared_x.wgsl"
const LANES = 32u;
// In shared_x: a tile of scores; from here on the places and the scores of those that are chosen, and sums of lanes.
const PLACES = 1024u;
const SCORES = PLACES + 64u;
const SUMS_OF_LANES = SCORES + 64u;

fn shared_float(i: u32) -> f32 { return bitcast<f32>(shared_word(i)); }
fn store_shared_float(i: u32, value: f32) { store_shared_word(i, bitcast<u32>(value)); }

fn score_at(args: u32, v: u32, i: u32) -> f32 {
    let length = arg(args, ARG_LENGTH);
    return polled(arg(args, ARG_X) + v * length + min(i, length - 1u), arg(args, ROUTE_X_COMPUTED) == 1u);
}

fn body(args: u32, v: u32, local: u32) {
    let length = arg(args, ARG_LENGTH);
    let slots = arg(args, ROUTE_SLOTS);
    for (var block = 0u; block < length; block += THREADS) {
        let mine = score_at(args, v, block + local);
        var rank = 0u;
        for (var tile = 0u; tile < length; tile += THREADS) {
            store_shared_float(local, score_at(args, v, tile + local));
            workgroupBarrier();
            for (var i = 0u; i < min(THREADS, length - tile); i++) {
                let other = shared_float(i);
                if (other > mine || (other == mine && tile + i < block + local)) { rank += 1u; }
            }
            workgroupBarrier();
        }
        if (block + local < length && rank < slots) {
            store_shared_word(PLACES + rank, block + local);
            store_shared_float(SCORES + rank, mine);
        }
    }
    workgroupBarrier();
    let most = shared_float(SCORES);
    if (local < LANES) {
        var sum = 0.0;
        if (arg(args, ROUTE_OF_ALL_SCORES) == 1u) {
            for (var i = local; i < length; i += LANES) { sum += exp(score_at(args, v, i) - most); }
        } else {
            for (var i = local; i < slots; i += LANES) { sum += exp(shared_float(SCORES + i) - most); }
        }
        store_shared_float(SUMS_OF_LANES + local, sum);
    }
    workgroupBarrier();
    if (local < slots) {
        var total = shared_float(SUMS_OF_LANES);
        for (var i = 1u; i < LANES; i++) { total += shared_float(SUMS_OF_LANES + i); }
        let at = arg(args, ARG_OUT) + v * 2u * slots + local;
        store(at, f32(shared_word(PLACES + local)));
        store(at + slots, exp(shared_float(SCORES + local) - most) * inverse_of(total));
    }
}
