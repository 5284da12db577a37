// Do workgroups see each other's data where it goes through atomics, as Solo's does?
const THREADS = 256u;
@group(0) @binding(1) var<storage, read_write> data: array<atomic<u32>>;

fn load(i: u32) -> u32 { return atomicLoad(&data[i]); }
// As in include/megakernel_atomic.wgsl: what was there before is given back, and when that has come, the new word is there for all.
var<private> given_back: u32;
fn store(i: u32, word: u32) { given_back |= atomicExchange(&data[i], word); }
fn settle() {
    if ((given_back & params.nothing) != 0u) { atomicAdd(&report[2], given_back); }
    given_back = 0u;
}

//!include "litmus.wgsl"
