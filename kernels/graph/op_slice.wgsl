// Part of each row. Arguments: 1 out, 2 x, 3 count, 4 length of a part, 5 length of a row, 6 where it begins.
const THREADS = 64u;
//!include "graph.wgsl"

fn body(v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i < arg(3)) { store_word(arg(1) + i, load_word(arg(2) + i / arg(4) * arg(5) + arg(6) + i % arg(4))); }
}
