// As near to nothing as can be checked: one thread counts the step.
const THREADS = 1u;
//!include "chain.wgsl"

fn step_body(v: u32, step: u32, local: u32) {
    atomicStore(&state[0], atomicLoad(&state[0]) + 1u);
}
