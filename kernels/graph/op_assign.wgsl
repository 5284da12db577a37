// Copies integers into inputs, for the next run: up to four copies, in order, by one workgroup. With an index the
// target is a list, and the copy goes to element index + added of it, unless that is beyond its end. Arguments:
// COPY_... in kernels/args.txt.
override THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    for (var i = 0u; i < arg(args, ASSIGN_COUNT); i++) {
        let at = ASSIGN_COPIES + COPY_SIZE * i;
        var added = arg(args, at + COPY_ADDED);
        if (arg(args, at + COPY_MORE) > 0u) { added += load_word(arg(args, at + COPY_MORE) - 1u); }
        if (arg(args, at + COPY_INDEX) == 0u) {
            for (var j = local; j < arg(args, at + COPY_COUNT); j += THREADS) {
                store_word(arg(args, at + COPY_TO) + j, load_word(arg(args, at + COPY_FROM) + j) + added);
            }
        } else if (local == 0u) {
            let index = load_word(arg(args, at + COPY_INDEX) - 1u) + added;
            if (index < arg(args, at + COPY_BOUND)) {
                store_word(arg(args, at + COPY_TO) + index, load_word(arg(args, at + COPY_FROM)));
            }
        }
        storageBarrier();
    }
}
