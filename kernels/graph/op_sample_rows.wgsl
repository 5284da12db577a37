// op_sample.wgsl for rows that are texts of their own: a workgroup for each.
//!wgsl-only
//!include "graph/op_sample.wgsl" arg(args,=row_arg(args, body(args:=each(args:
//!include "sample_rows.wgsl"

fn body(args: u32, v: u32, local: u32) {
    sampled_row = v;
    if (agree(u32(is_idle(args)), local) == 1u) { return; }
    each(args, v, local);
    if (local == 0u) { advance(args); }
}
