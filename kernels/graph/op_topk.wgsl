// The places of the largest elements of each row, largest first: one after the other, each the largest of those that
// come after the one before (smaller, or equal and further on).
override THREADS = 256u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "reduce_REDUCE.wgsl"
var<workgroup> places: array<u32, THREADS>;
var<workgroup> before: u32;

// Is the element of a group that counts?
fn is_in(args: u32, v: u32, i: u32) -> bool {
    if (arg(args, TOPK_GROUPS) == 0u) { return true; }
    for (var k = 0u; k < arg(args, TOPK_GROUPS_USED); k++) {
        let group = load_word(arg(args, TOPK_GROUPS) - 1u + v * arg(args, TOPK_GROUPS_USED) + k);
        if (i / arg(args, TOPK_GROUP_SIZE) == group) { return true; }
    }
    return false;
}

fn body(args: u32, v: u32, local: u32) {
    let row = arg(args, ARG_X) + v * arg(args, ARG_LENGTH);
    var last = 3.4e38;
    var last_place = 0u;
    for (var k = 0u; k < arg(args, TOPK_COUNT); k++) {
        var best = -3.4e38;
        var place = 0xffffffffu;
        for (var i = local; i < arg(args, ARG_LENGTH); i += THREADS) {
            let x = load(row + i);
            if ((k == 0u || x < last || (x == last && i > last_place)) && (x > best || place == 0xffffffffu) &&
                is_in(args, v, i)) {
                best = x;
                place = i;
            }
        }
        let most = max_of_all(best, local);
        places[local] = select(0xffffffffu, place, best == most);
        workgroupBarrier();
        if (local == 0u) {
            before = 0xffffffffu;
            for (var i = 0u; i < THREADS; i++) { before = min(before, places[i]); }
            store_word(arg(args, ARG_OUT) + v * arg(args, TOPK_COUNT) + k, before);
        }
        last = most;
        last_place = workgroupUniformLoad(&before);
    }
}
