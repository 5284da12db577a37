// out[t, c] = x[t] . W[c]: a workgroup for each. Arguments: 0 rows * columns, 1 out, 2 x, 3 k, 4 columns,
// 5 byte at which the weight begins, 6 bytes of its rows, 7 its type.
//!include "graph.wgsl"
//!include "weight.wgsl"

fn body(v: u32, local: u32) {
    let x = arg(2) + v / arg(4) * arg(3);
    let row = arg(5) + v % arg(4) * arg(6);
    var sum = 0.0;
    for (var i = local; i < arg(3); i += THREADS) { sum += load(x + i) * weight_at(arg(7), row, i); }
    let total = sum_of_all(sum, local);
    if (local == 0u) { store(arg(1) + v, total); }
}
