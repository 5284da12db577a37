// Many phases in one dispatch: what graph.wgsl is for a dispatch each. A table says what the phases are; the workgroups
// share out each phase's virtual ones, and pass a barrier over all of them between phases. While they wait there, the next
// phase's `begin` has its weights on their way.
//
// All workgroups must be resident at once. `gate[0]` counts arrivals, so that the n-th barrier is passed when it
// reaches n * workgroups; its highest bit says that someone waited too long, and everyone leaves: nothing hangs when the
// promise of residency is broken. The last one to leave sets everything back to zero, for the next dispatch.
struct course_of {
    phases: u32,     // 0: only find out how many workgroups are resident
    rounds: u32,     // how often to go through them
    spin_limit: u32, // looks at the gate before giving up
    stall: u32,      // for tests: the barrier, counted from 1, before which workgroup 0 stops; 0: none
    token: u32,      // the word that has the token of the next round
    stop_count: u32,
    nothing: u32,    // 0, which compilers do not know
    unused: u32,
    stops: array<vec4<u32>, 4>, // tokens after which no further rounds are wanted
}
@group(0) @binding(3) var<uniform> course: course_of;
@group(0) @binding(4) var<storage, read_write> gate: array<atomic<u32>>;

// A word of the table of phases: 0 virtual workgroups, 1 which kernel, from 2 on its arguments, or only those that are not
// the same in all its phases (one_full.wgsl, one_short.wgsl). Those that are have then become part of the kernel.
fn told_word(args: u32, i: u32) -> u32 { return phases_told[(args + i) / 4u][(args + i) % 4u]; }

const GAVE_UP = 0x80000000u;
var<workgroup> seen_at_gate: u32;

// A workgroup arrives when all that it has written is on its way to the others, and waits later: what it asks for in
// between, which depends on none of them, is then under way.
fn arrive(local: u32) {
    storageBarrier();
    if (local == 0u) { atomicAdd(&gate[0], 1u); }
}

// Whether to go on.
fn wait_for_all(local: u32, wanted: u32) -> bool {
    if (local == 0u) {
        var looks = 0u;
        var seen = atomicLoad(&gate[0]);
        while (seen < wanted) {
            looks += 1u;
            if (looks > course.spin_limit) { atomicOr(&gate[0], GAVE_UP); }
            seen = atomicLoad(&gate[0]);
        }
        seen_at_gate = seen;
    }
    return workgroupUniformLoad(&seen_at_gate) < GAVE_UP;
}

var<workgroup> next_token: u32;

fn is_stop(local: u32) -> bool {
    if (course.stop_count == 0u) { return false; }
    if (local == 0u) { next_token = load_word(course.token); }
    let token = workgroupUniformLoad(&next_token);
    for (var i = 0u; i < course.stop_count; i++) {
        if (course.stops[i / 4u][i % 4u] == token) { return true; }
    }
    return false;
}

// Everyone signs in; the first to have waited long enough says how many there are. Whoever could not run until then
// sees that it is over.
fn call_roll(local: u32) {
    if (local == 0u) {
        var looks = 0u;
        atomicAdd(&gate[2], 1u);
        while (atomicLoad(&gate[3]) == 0u) {
            looks += 1u;
            if (looks > course.spin_limit) { atomicMax(&gate[3], atomicLoad(&gate[2])); }
        }
    }
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    let workgroups = groups.x;
    var round = 0u;
    var phase = 0u;
    var v = group.x;
    var passed = 0u;
    var begun = false; // the first time round there is nothing to do yet but to begin
    if (course.phases == 0u) { call_roll(local); return; }
    if (is_stop(local)) { return; }
    loop {
        var again = true;
        if (begun) {
            let args = phase * TOLD_WORDS;
            if (v < told_word(args, 0u)) { body_of(told_word(args, 1u), args, v, local); }
            v += workgroups;
            again = v < told_word(args, 0u);
            if (again) {
                workgroupBarrier(); // workgroup memory is everyone's
            } else {
                v = group.x;
                phase += 1u;
                if (phase == course.phases) { phase = 0u; round += 1u; }
                if (phase == 0u && round == course.rounds) { break; }
                passed += 1u;
                if (group.x == 0u && passed == course.stall) { return; }
                arrive(local);
            }
        }
        begun = true;
        let next = phase * TOLD_WORDS;
        if (v < told_word(next, 0u)) { begin_of(told_word(next, 1u), next, v, local); }
        if (!again) {
            if (!wait_for_all(local, passed * workgroups)) { return; }
            if (phase == 0u && is_stop(local)) { break; }
        }
    }
    if (local == 0u && atomicAdd(&gate[1], 1u) + 1u == workgroups) {
        atomicStore(&gate[0], 0u);
        atomicStore(&gate[1], 0u);
    }
}
