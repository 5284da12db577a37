// x[i] = x[i + 257] + 1 over 1,024 elements: each workgroup needs what two
// others wrote in the step before.
const THREADS = 64u;
const N = 1024u;
//!include "chain.wgsl"

fn step_body(v: u32, step: u32, local: u32) {
    let i = v * THREADS + local;
    let old = (step & 1u) * N;
    store(N - old + i, load(old + (i + 257u) % N) + 1.0);
}
