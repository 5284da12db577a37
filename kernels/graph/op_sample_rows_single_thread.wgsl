// op_sample_single_thread.wgsl for rows that are texts of their own: a thread for each.
//!wgsl-only
//!include "graph/op_sample_single_thread.wgsl" arg(args,=row_arg(args, body(args:=each(args: (bits_at(=(row_bits(args,
//!include "sample_rows.wgsl"

fn row_bits(args: u32, at: u32) -> u32 {
    return steered(args, at - row_arg(args, SAMPLE_LOGITS), bits_at(at) & ~EPOCH_BIT);
}

fn body(args: u32, v: u32, local: u32) {
    let own = args_of_row(args, v);
    if (local > 0u || is_idle(own)) { return; }
    each(own, v, local);
    advance(own);
}
