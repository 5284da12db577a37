// A chain of dependent steps. A kernel gives `THREADS` and `step_body(v, step,
// local)`, the work of virtual workgroup `v` in a step; this file gives the two
// ways to launch it: `each`, one dispatch per step, and `one`, a dispatch that
// makes all steps with a grid barrier between them.
//
// `state` holds two generations: a step reads one half and writes the other,
// by the step's parity, so every step needs the whole of the one before.
struct Params {
    step: u32,        // number of the first step
    steps: u32,       // steps this dispatch makes (`one` only)
    workgroups: u32,  // virtual workgroups in a step
    spin_limit: u32,  // when a barrier gives up
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> gate: array<atomic<u32>>;

//!include "grid_barrier.wgsl"

fn load(i: u32) -> f32 { return bitcast<f32>(atomicLoad(&state[i])); }
fn store(i: u32, value: f32) { atomicStore(&state[i], bitcast<u32>(value)); }

@compute @workgroup_size(THREADS)
fn each(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    step_body(group.x, params.step, local);
}

@compute @workgroup_size(THREADS)
fn one(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
       @builtin(local_invocation_index) local: u32) {
    for (var s = 0u; s < params.steps; s++) {
        for (var v = group.x; v < params.workgroups; v += groups.x) {
            step_body(v, params.step + s, local);
        }
        if (grid_barrier(local, s + 1u, groups.x, params.spin_limit)) { return; }
    }
}
