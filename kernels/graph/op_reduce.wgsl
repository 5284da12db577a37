// One number of each row: its sum, mean, maximum, or the place of its maximum.
override THREADS = 256u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "reduce_REDUCE.wgsl"
var<workgroup> places: array<u32, THREADS>;

fn body(args: u32, v: u32, local: u32) {
    let row = arg(args, ARG_X) + v * arg(args, ARG_LENGTH);
    var sum = 0.0;
    var best = -3.4e38;
    var place = 0u;
    for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
        let x = load(row + i);
        sum += x;
        if (x > best) { best = x; place = i; }
    }
    let most = max_of_all(best, local);
    let total = sum_of_all(sum, local);
    // Of equal maxima the first counts, whichever thread found it.
    places[local] = select(0xffffffffu, place, best == most);
    workgroupBarrier();
    if (local == 0u) {
        var first = 0xffffffffu;
        for (var i = 0u; i < THREADS; i++) { first = min(first, places[i]); }
        switch (arg(args, REDUCE_OP_KIND)) {
            case REDUCE_SUM: { store(arg(args, ARG_OUT) + v, total); }
            case REDUCE_MEAN: { store(arg(args, ARG_OUT) + v, total / f32(arg(args, ARG_LENGTH))); }
            case REDUCE_MAX: { store(arg(args, ARG_OUT) + v, most); }
            default: { store_word(arg(args, ARG_OUT) + v, first); }
        }
    }
}
