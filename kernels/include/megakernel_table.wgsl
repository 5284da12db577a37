// The phases by a table and a switch: one text for any number of them (src/graph/megakernel_schedule.h has the other way).
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>, @builtin(local_invocation_index) local: u32) {
    var round = 0u;
    var phase = 0u;
    var v = group.x;
    var passed = 0u;
    if (course.phases == 0u) { call_roll(local); return; }
    if (is_stop(local)) { return; }
    loop {
        let args = phase * PHASE_WORDS;
        if (v < phase_word(args, 0u)) { body_of(phase_word(args, 1u), args, v, local); }
        v += groups.x;
        if (v < phase_word(args, 0u)) {
            workgroupBarrier(); // workgroup memory is everyone's
        } else {
            v = group.x;
            phase += 1u;
            if (phase == course.phases) { phase = 0u; round += 1u; }
            if (phase == 0u && round == course.rounds) { break; }
            passed += 1u;
            arrive(group.x, local, passed);
            wait_for_all(local, passed * groups.x);
            if (!going_on()) { return; }
            if (phase == 0u && is_stop(local)) { break; }
        }
    }
    leave(local, groups.x, round);
}
