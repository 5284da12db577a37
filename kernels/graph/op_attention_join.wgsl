// The parts that op_attention left, put together: each has sums of values, the maximum they are relative to, and the sum
// of their weights. Arguments: 0 rows * heads, 1 out, 2 parts, 3 size of a head, 4 splits.
const THREADS = 64u;
//!include "graph.wgsl"

fn body(v: u32, local: u32) {
    let size = arg(3);
    let begin = arg(2) + v * arg(4) * (size + 2u);
    var most = -3.4e38;
    for (var s = 0u; s < arg(4); s++) { most = max(most, load(begin + s * (size + 2u) + size)); }
    var total = 0.0;
    for (var s = 0u; s < arg(4); s++) {
        let part = begin + s * (size + 2u) + size;
        total += load(part + 1u) * exp(load(part) - most);
    }
    for (var i = local; i < size; i += THREADS) {
        var value = 0.0;
        for (var s = 0u; s < arg(4); s++) {
            let part = begin + s * (size + 2u);
            value += load(part + i) * exp(load(part + size) - most);
        }
        store(arg(1) + v * size + i, value / total);
    }
}
