// op_sample_scan.wgsl for rows that are texts of their own: SAMPLE_ROW_GROUPS workgroups for each.
//!wgsl-only
//!include "graph/op_sample_scan.wgsl" arg(args,=row_arg(args, body(args:=each(args: (logit_bits(=(row_bits(
//!include "sample_rows.wgsl"

fn row_bits(args: u32, at: u32) -> u32 {
    return steered(args, at - row_arg(args, SAMPLE_LOGITS), logit_bits(args, at));
}

fn body(args: u32, v: u32, local: u32) {
    let groups = arg(args, SAMPLE_ROW_GROUPS);
    each(args_of_row(args, v / groups), v % groups, local);
}
