// Adds up what SHARES workgroups each made of a share of k (matmul_slots.wgsl), in their order, and does what comes
// after a product. A thread has a row4 of one row of x.
//!wgsl-only
override THREADS = 64u;
override SHARES = 2u;
override ROWS = 2u; // of x
const EACH = 64u; // row4s of a workgroup, so that many workgroups read
//!include "graph.wgsl"
//!include "epilogue_functions.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "angle.wgsl"
//!include "matmul.wgsl"

fn sums_at(args: u32, share: u32, row: u32, row4: u32) -> vec4<u32> {
    let row4s = arg(args, MATMUL_ROW4S);
    return vec4<u32>(0u, 1u, 2u, 3u) + arg(args, MATMUL_SUMS) + ((share * ROWS + row) * row4s + row4) * 4u;
}

fn body(args: u32, v: u32, local: u32) {
    let i = v * EACH + local;
    let row = i / arg(args, MATMUL_ROW4S);
    let row4 = i % arg(args, MATMUL_ROW4S);
    if (local >= EACH || row >= ROWS) { return; }
    let q = row4_of(args, PART, row4, 0u);
    let r = fetch_operands(args, PART, q.rows, row);
//!for s SHARES
    let bits_#s = bits_of_vec4(sums_at(args, #su, row, row4));
//!end
    var total = vec4<f32>();
//!for s SHARES
    total += floats_of(bits_#s, sums_at(args, #su, row, row4), true);
//!end
    finish(args, PART, q.first, q.rows, total, row, r);
}
