// The same as op_assign by one thread, for software: without a barrier it compiles in a quarter of the time. Arguments as there.
const THREADS = 1u;
const COPIES = 4u;
const INDEXED = 1u; // 0: none has an index
const MORE = 1u;    // 0: none has a place of a number to add
//!wgsl-only
//!include "graph.wgsl"

fn body(args: u32, v: u32, local: u32) {
    if (local > 0u) { return; }
//!for i COPIES
    {
        let at = 4u + 8u * #iu;
        var added = arg(args, at + 3u);
//!for _ MORE
        if (arg(args, at + 4u) > 0u) { added += load_word(arg(args, at + 4u) - 1u); }
//!end
        var count = arg(args, at + 2u);
        var first = arg(args, at);
//!for _ INDEXED
        if (arg(args, at + 5u) > 0u) {
            let index = added + load_word(arg(args, at + 5u) - 1u);
            count = select(0u, 1u, index < arg(args, at + 6u));
            first += index;
            added = 0u;
        }
//!end
        for (var j = 0u; j < count; j++) { store_word(first + j, load_word(arg(args, at + 1u) + j) + added); }
    }
//!end
}
