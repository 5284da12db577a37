// A chain of dependent steps. A kernel gives `THREADS` and `step_body(v, step, local)`, the work of virtual workgroup
// `v` in a step; this file gives the two ways to launch it: `each`, one dispatch per step, and `one`, a dispatch that
// makes all steps with a grid barrier between them.
//
// `state` holds two generations: a step reads one half and writes the other,
// by the step's parity, so every step needs the whole of the one before.
struct Params {
    launch: solo_launch_params,
    step: u32,       // number of the first step
    steps: u32,      // steps this dispatch makes (`one` only)
    workgroups: u32, // virtual workgroups in a step
}
@group(0) @binding(0) var<uniform> solo_params: Params;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> solo_grid: array<atomic<u32>>;

//!include "persistent.wgsl"

fn load(i: u32) -> f32 { return bitcast<f32>(atomicLoad(&state[i])); }
fn store(i: u32, value: f32) { atomicStore(&state[i], bitcast<u32>(value)); }

@compute @workgroup_size(THREADS)
fn each(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    step_body(group.x, solo_params.step, local);
}

@compute @workgroup_size(THREADS)
fn one(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
       @builtin(local_invocation_index) local: u32) {
    if (solo_params.launch.roll_call != 0u) { solo_roll_call(local); return; }
    for (var s = 0u; s < solo_params.steps; s++) {
        for (var v = group.x; v < solo_params.workgroups; v += groups.x) {
            step_body(v, solo_params.step + s, local);
        }
        if (!solo_barrier(group.x, local, s + 1u, groups.x)) { return; }
    }
    solo_leave(local, groups.x, solo_params.steps);
}
