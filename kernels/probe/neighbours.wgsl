// Each workgroup passes a word to its neighbour: what a grid barrier costs, how
// many workgroups are resident at once, and whether they see each other's data.
const THREADS = 256u;
const MAX_WORKGROUPS = 4096u;
//!include "chain.wgsl"

fn step_body(v: u32, step: u32, local: u32) {
    if (local == 0u) {
        let old = (step & 1u) * MAX_WORKGROUPS;
        let word = atomicLoad(&state[old + (v + 1u) % solo_params.workgroups]);
        atomicStore(&state[MAX_WORKGROUPS - old + v], word + 1u);
    }
}
