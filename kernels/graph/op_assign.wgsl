// Whole numbers into inputs, for the next run: up to four such copies, in order, by one workgroup. Arguments: 0 one,
// 1 how many copies; copy i from 4 + 8 i on: 0 to, 1 from, 2 count, 3 a number to add, 4 place of a number to add (0:
// none, else one more), 5 place of an index (likewise), 6 its bound. With an index, `to` is a list, and index and
// numbers say which element the copy goes to.
override THREADS = 64u;
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    for (var i = 0u; i < arg(args, ASSIGN_COUNT); i++) {
        let at = ASSIGN_COPIES + COPY_SIZE * i;
        var added = arg(args, at + COPY_ADDED);
        if (arg(args, at + COPY_MORE) > 0u) { added += load_word(arg(args, at + COPY_MORE) - 1u); }
        if (arg(args, at + COPY_INDEX) == 0u) {
            for (var j = local; j < arg(args, at + COPY_COUNT); j += THREADS) { store_word(arg(args, at + COPY_TO) + j, load_word(arg(args, at + COPY_FROM) + j) + added); }
        } else if (local == 0u) {
            let index = load_word(arg(args, at + COPY_INDEX) - 1u) + added;
            if (index < arg(args, at + COPY_BOUND)) { store_word(arg(args, at + COPY_TO) + index, load_word(arg(args, at + COPY_FROM))); }
        }
        storageBarrier();
    }
}
