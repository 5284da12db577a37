// Do workgroups see each other's data where it goes through atomics, as Solo's does?
const THREADS = 256u;
@group(0) @binding(1) var<storage, read_write> data: array<atomic<u32>>;

fn load(i: u32) -> u32 { return atomicLoad(&data[i]); }
fn store(i: u32, word: u32) { atomicStore(&data[i], word); }

//!include "litmus.wgsl"
