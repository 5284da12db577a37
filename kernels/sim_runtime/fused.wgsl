// All steps in one dispatch, a thread for each individual, its state in registers.
@compute @workgroup_size(SOLO_THREADS)
fn solo_all(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
            @builtin(local_invocation_index) local: u32) {
    let i = (group.y * groups.x + group.x) * SOLO_THREADS + local;
    if (i >= solo_params.population) { return; }
    solo_is(i);
    var s: State;
    if (solo_params.begins != 0u) {
        s = solo_begin(i);
        solo_trace(s, i, 0u);
    } else { s = solo_load(i); }
    let end = solo_params.step + solo_params.steps;
    for (var t = solo_params.step; t < end; t++) {
        if (solo_ends(s, i, t)) {
            if (SOLO_TRACES) { solo_trace(s, i, t + 1u); } else { break; }
        } else {
            s = solo_next(s, i, t);
            solo_trace(s, i, t + 1u);
        }
    }
    solo_store(i, s);
    if (solo_params.scores != 0u) { solo_set_score(solo_score_place(i), solo_score(s, i)); }
    solo_note_strays();
}
