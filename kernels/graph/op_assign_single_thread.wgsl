// Copies integers into inputs, as op_assign.wgsl does, by one thread: for software, which compiles this in a quarter of
// the time, since it has no barrier.
override THREADS = 1u;
override COPIES = 4u;
override INDEXED = 1u; // 0: no copy has an index
override MORE = 1u; // 0: no copy has COPY_MORE
//!wgsl-only
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    if (local > 0u) { return; }
//!for i COPIES
    {
        let at = ASSIGN_COPIES + COPY_SIZE * #iu;
        var added = arg(args, at + COPY_ADDED);
//!for _ MORE
        if (arg(args, at + COPY_MORE) > 0u) { added += load_word(arg(args, at + COPY_MORE) - 1u); }
//!end
        var count = arg(args, at + COPY_COUNT);
        var first = arg(args, at + COPY_TO);
//!for _ INDEXED
        if (arg(args, at + COPY_INDEX) > 0u) {
            let index = added + load_word(arg(args, at + COPY_INDEX) - 1u);
            count = select(0u, 1u, index < arg(args, at + COPY_BOUND));
            first += index;
            added = 0u;
        }
//!end
        for (var j = 0u; j < count; j++) { store_word(first + j, load_word(arg(args, at + COPY_FROM) + j) + added); }
    }
//!end
}
