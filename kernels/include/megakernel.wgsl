// Many phases in one dispatch: what graph.wgsl is for a dispatch each. A table says what the phases are; the workgroups
// share out each phase's virtual ones, and pass a barrier over all of them between phases. While they wait there, the next
// phase's `prefetch` may have its weights on their way.
//
// All workgroups must be resident at once. `gate[0]` counts arrivals, so that the n-th barrier is passed when it
// reaches n * workgroups; its highest bit says that someone waited too long, and everyone leaves: nothing hangs when the
// promise of residency is broken.
struct course_of {
    phases: u32,     // 0: only find out how many workgroups are resident
    rounds: u32,     // how often to go through them
    spin_limit: u32, // spins at the gate before giving up
    stall: u32,      // for tests: the end of a phase, counted from 1, at which workgroup 0 does not arrive; 0: none
    token: u32,      // the word that has the token of the next round
    stop_count: u32,
    nothing: u32,    // 0, which compilers do not know
    spins: u32,      // 1: at marks, to see whether a float is there
    stops: array<vec4<u32>, 4>, // tokens after which no shuffle_down rounds are wanted
}
@group(0) @binding(3) var<uniform> course: course_of;
@group(0) @binding(4) var<storage, read_write> gate: array<atomic<u32>>;

// A word of the table of phases: 0 virtual workgroups, 1 which kernel, from 2 on its arguments, or only those that are not
// the same in all its phases (megakernel_fast.wgsl, megakernel_compact.wgsl). Those that are have then become part of the kernel.
fn phase_word(args: u32, i: u32) -> u32 { return phase_table[(args + i) / 4u][(args + i) % 4u]; }

const GAVE_UP = 0x80000000u;
var<workgroup> seen_at_gate: u32;

// A workgroup arrives when all that it has written is there for the others.
fn arrive(group: u32, local: u32, passed: u32) {
    settle();
    storageBarrier();
    if (local == 0u && (group > 0u || passed != course.stall)) { atomicAdd(&gate[0], 1u); }
}

// Once someone has given up, nobody waits any more.
fn wait_for_all(local: u32, wanted: u32) {
    if (local == 0u) {
        var seen = atomicLoad(&gate[0]);
        for (var spins = 1u; spins < MAX_SPINS; spins++) {
            if (seen >= wanted) { break; }
            if (spins > course.spin_limit) { atomicOr(&gate[0], GAVE_UP); }
            seen = atomicLoad(&gate[0]);
        }
        seen_at_gate = seen;
    }
    workgroupBarrier();
}

// Whether nobody had given up when this workgroup last waited. What is computed until it is asked is not kept.
fn going_on() -> bool { return workgroupUniformLoad(&seen_at_gate) < GAVE_UP; }

var<workgroup> next_token: u32;

fn is_stop(local: u32) -> bool {
    if (local == 0u) { next_token = load_word(course.token); }
    let token = workgroupUniformLoad(&next_token);
    var stop = false;
    for (var i = course.stop_count; i > 0u; i--) { stop = stop || course.stops[(i - 1u) / 4u][(i - 1u) % 4u] == token; }
    return stop;
}

// Everyone signs in; the first to have waited long enough says how many there are. Whoever could not run until then
// sees that it is over.
fn call_roll(local: u32) {
    if (local == 0u) {
        atomicAdd(&gate[2], 1u);
        for (var spins = 1u; spins < MAX_SPINS; spins++) {
            if (atomicLoad(&gate[3]) != 0u) { break; }
            if (spins > course.spin_limit) { atomicMax(&gate[3], atomicLoad(&gate[2])); }
        }
    }
}

// The last one to leave sets everything back to zero, for the next dispatch.
// Only the number of rounds goes on.
fn leave(local: u32, workgroups: u32, rounds: u32) {
    if (local == 0u && atomicAdd(&gate[1], 1u) + 1u == workgroups) {
        atomicAdd(&gate[5], rounds);
        atomicStore(&gate[0], 0u);
        atomicStore(&gate[1], 0u);
    }
}
