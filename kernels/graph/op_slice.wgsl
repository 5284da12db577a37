// Part of each row. Arguments: 1 out, 2 x, 3 count, 4 length of a part, 5 length of a row, 6 where it begins.
const THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i < arg(args, 3)) { store_word(arg(args, 1) + i, load_word(arg(args, 2) + i / arg(args, 4) * arg(args, 5) + arg(args, 6) + i % arg(args, 4))); }
}
