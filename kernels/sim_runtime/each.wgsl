// A dispatch for each step: it reads states from memory and writes them back. The step number of every individual is
// in memory, too, behind the states: so one bind group serves all steps, and the host writes nothing between steps.
@compute @workgroup_size(SOLO_THREADS)
fn solo_first(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
              @builtin(local_invocation_index) local: u32) {
    let i = (group.y * groups.x + group.x) * SOLO_THREADS + local;
    if (i >= solo_params.population) { return; }
    solo_is(i);
    let s = solo_begin(i);
    solo_at_step(0u);
    solo_store(i, s);
    solo_states_store(solo_clock(i), 0u);
    solo_trace(s, i, 0u);
    solo_note_strays();
}

@compute @workgroup_size(SOLO_THREADS)
fn solo_each(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
             @builtin(local_invocation_index) local: u32) {
    let i = (group.y * groups.x + group.x) * SOLO_THREADS + local;
    if (i >= solo_params.population) { return; }
    solo_is(i);
    let t = solo_states_load(solo_clock(i));
    solo_at_step(t);
    var s = solo_load(i);
    let ends = solo_ends(s, i, t);
    if (!ends) { s = solo_next(s, i, t); }
    solo_at_step(t + 1u);
    if (!ends || SOLO_COUPLED) { solo_store(i, s); }
    solo_states_store(solo_clock(i), t + 1u);
    solo_trace(s, i, t + 1u);
    solo_note_strays();
}

@compute @workgroup_size(SOLO_THREADS)
fn solo_last(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
             @builtin(local_invocation_index) local: u32) {
    let i = (group.y * groups.x + group.x) * SOLO_THREADS + local;
    if (i >= solo_params.population) { return; }
    solo_is(i);
    solo_at_step(solo_states_load(solo_clock(i)));
    solo_set_score(solo_score_place(i), solo_score(solo_load(i), i));
    solo_note_strays();
}
