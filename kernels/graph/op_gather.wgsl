// Rows of a weight. Arguments: 0 rows, 1 out, 2 which rows, 3 k, 4 the last row there is, 5 word at which the weight
// begins, 6 its rows, 7 the first of them (a large weight lies in several places, and others take care of the rest).
const THREADS = 64u;
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let wanted = min(load_word(arg(args, 2) + v), arg(args, 4));
    if (wanted < arg(args, 7) || wanted - arg(args, 7) >= arg(args, 6)) { return; }
    let chunks = (arg(args, 3) + CHUNK - 1u) / CHUNK;
    for (var c = local; c < chunks; c += THREADS) {
        let bits_here = fetch(matrix(arg(args, 5), arg(args, 6) * chunks), (wanted - arg(args, 7)) * chunks + c);
        for (var i = 0u; i < at_run_time(CHUNK) && c * CHUNK + i < arg(args, 3); i++) { store(arg(args, 1) + v * arg(args, 3) + c * CHUNK + i, four(bits_here, i / 4u)[i % 4u]); }
    }
}
