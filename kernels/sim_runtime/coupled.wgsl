// All steps in one dispatch where individuals see each other: states are in memory, as they were before the step and
// as they are after it, by the step's parity, and all threads wait for each other after every step.
@compute @workgroup_size(SOLO_THREADS)
fn solo_all(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32) {
    let threads = groups.x * SOLO_THREADS;
    let mine = group.x * SOLO_THREADS + local;
    if (solo_params.launch.roll_call != 0u) { solo_roll_call(local); return; }
    if (solo_params.begins != 0u) {
        solo_at_step(0u);
        for (var i = mine; i < solo_params.population; i += threads) {
            solo_is(i);
            let s = solo_begin(i);
            solo_store(i, s);
            solo_trace(s, i, 0u);
        }
    }
    var nth = 1u;
    if (!solo_barrier(group.x, local, nth, groups.x)) { return; }
    for (var n = 0u; n < solo_params.steps; n++) {
        let t = solo_params.step + n;
        for (var i = mine; i < solo_params.population; i += threads) {
            solo_is(i);
            solo_at_step(t);
            var s = solo_load(i);
            if (!solo_ends(s, i, t)) { s = solo_next(s, i, t); }
            solo_at_step(t + 1u);
            solo_store(i, s);
            solo_trace(s, i, t + 1u);
        }
        nth += 1u;
        if (!solo_barrier(group.x, local, nth, groups.x)) { return; }
    }
    if (solo_params.scores != 0u) {
        solo_at_step(solo_params.step + solo_params.steps);
        for (var i = mine; i < solo_params.population; i += threads) {
            solo_is(i);
            solo_set_score(solo_score_place(i), solo_score(solo_load(i), i));
        }
    }
    solo_note_strays();
    solo_leave(local, groups.x, 1u);
}
