// op_sample.wgsl for rows that are texts of their own: a workgroup for each.
//!wgsl-only
//!include "graph/op_sample.wgsl" arg(args,=row_arg(args, body(args:=each(args:
//!include "sample_rows.wgsl"

fn body(args: u32, v: u32, local: u32) {
    let own = args_of_row(args, v);
    if (agree(u32(is_idle(own)), local) == 1u) { return; }
    each(own, v, local);
    if (local == 0u) { advance(own); }
}
