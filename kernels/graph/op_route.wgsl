// Which experts each row gets: those with the largest scores, and a weight for each, the softmax over the chosen scores
// or over all of them. A score's rank is the number of scores that come before it (larger, or equal and further to the
// front), so that threads need not wait for each other from one choice to the next. Sums have an order that does not
// depend on the number of threads.
override THREADS = 256u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "floats.wgsl"
const MOST_CHOSEN = 64u;
const LANES = 32u;
var<workgroup> tile_scores: array<f32, THREADS>;
var<workgroup> chosen_places: array<u32, MOST_CHOSEN>;
var<workgroup> chosen_scores: array<f32, MOST_CHOSEN>;
var<workgroup> lane_sums: array<f32, LANES>;

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
            tile_scores[local] = score_at(args, v, tile + local);
            workgroupBarrier();
            for (var i = 0u; i < min(THREADS, length - tile); i++) {
                let other = tile_scores[i];
                if (other > mine || (other == mine && tile + i < block + local)) { rank += 1u; }
            }
            workgroupBarrier();
        }
        if (block + local < length && rank < slots) {
            chosen_places[rank] = block + local;
            chosen_scores[rank] = mine;
        }
    }
    workgroupBarrier();
    let most = chosen_scores[0];
    if (local < LANES) {
        var sum = 0.0;
        if (arg(args, ROUTE_OF_ALL_SCORES) == 1u) {
            for (var i = local; i < length; i += LANES) { sum += exp(score_at(args, v, i) - most); }
        } else {
            for (var i = local; i < slots; i += LANES) { sum += exp(chosen_scores[i] - most); }
        }
        lane_sums[local] = sum;
    }
    workgroupBarrier();
    if (local < slots) {
        var total = lane_sums[0];
        for (var i = 1u; i < LANES; i++) { total += lane_sums[i]; }
        let at = arg(args, ARG_OUT) + v * 2u * slots + local;
        store(at, f32(chosen_places[local]));
        store(at + slots, exp(chosen_scores[local] - most) * inverse_of(total));
    }
}
