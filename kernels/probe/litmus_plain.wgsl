// Do workgroups see each other's data where it is stored and loaded plainly? Nothing promises it.
const THREADS = 256u;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;

fn load(i: u32) -> u32 { return data[i]; }
fn store(i: u32, word: u32) { data[i] = word; }
fn settle() {}

//!include "litmus.wgsl"
