// The phases by a table and a switch: one text for any number of phases. src/graph/megakernel_schedule.h writes phases
// out.
@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    var round = 0u;
    var phase = 0u;
    var v = group.x;
    var passed = 0u;
    if (solo_params.launch.roll_call != 0u) { solo_roll_call(local); return; }
    if (is_stop(local)) { return; }
    loop {
        let args = phase * PHASE_WORDS;
        if (v < phase_word(args, 0u)) { body_of(phase_word(args, 1u), args, v, local); }
        v += groups.x;
        if (v < phase_word(args, 0u)) {
            workgroupBarrier(); // workgroup memory is shared by all virtual workgroups
        } else {
            v = group.x;
            phase += 1u;
            if (phase == solo_params.phases) { phase = 0u; round += 1u; }
            if (phase == 0u && round == solo_params.rounds) { break; }
            passed += 1u;
            solo_arrive(group.x, local, passed);
            wait_for_all(local, passed * groups.x);
            if (!solo_in_time()) { return; }
            if (phase == 0u && is_stop(local)) { break; }
        }
    }
    solo_leave(local, groups.x, round);
}
