// Many phases in one dispatch: what graph.wgsl is for separate dispatches. A table lists the phases; the workgroups
// share each phase's virtual workgroups, and wait between phases for the data they need (persistent.wgsl). While they
// wait, the next phase's `prefetch` may have its weights on their way.
struct megakernel_params {
    launch: solo_launch_params,
    phases: u32,
    rounds: u32,     // how often to go through them
    token: u32,      // the word that has the token of the next round
    stop_count: u32,
    stops: array<vec4<u32>, 4>, // tokens after which no further round starts
}
@group(0) @binding(3) var<uniform> solo_params: megakernel_params;
@group(0) @binding(4) var<storage, read_write> solo_grid: array<atomic<u32>>;

// A word of the table of phases: 0 virtual workgroups, 1 which kernel, from 2 on its arguments, or only those that are
// not the same in all its phases (megakernel_fast.wgsl, megakernel_compact.wgsl). Those that are the same are part of
// the kernel.
fn phase_word(args: u32, i: u32) -> u32 { return phase_table[(args + i) / 4u][(args + i) % 4u]; }

fn wait_for_all(local: u32, wanted: u32) {
    solo_poll_arrivals(local, wanted);
    workgroupBarrier();
}

var<workgroup> next_token: u32;

fn is_stop(local: u32) -> bool {
    if (local == 0u) { next_token = load_word(solo_params.token); }
    let token = workgroupUniformLoad(&next_token);
    var stop = false;
    for (var i = solo_params.stop_count; i > 0u; i--) {
        stop = stop || solo_params.stops[(i - 1u) / 4u][(i - 1u) % 4u] == token;
    }
    return stop;
}
