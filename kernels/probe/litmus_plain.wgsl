// Do workgroups see each other's words where they are stored and loaded plainly? Nothing promises it.
const THREADS = 256u;
@group(0) @binding(1) var<storage, read_write> data: array<u32>;
fn data_load(i: u32) -> u32 { return data[i]; }
fn data_store(i: u32, word: u32) { data[i] = word; }
//!include "litmus.wgsl"
