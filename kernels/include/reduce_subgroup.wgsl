// Sums and maxima over a workgroup, and sums over its teams of TEAM threads, as in reduce_shared.wgsl, but by subgroups
// of SUBGROUP consecutive threads. SUBGROUP divides TEAM.
//!include "subgroup_sum.wgsl"
var<workgroup> reduced: array<vec4<f32>, THREADS / SUBGROUP>;

fn sum_of_all(value: f32, local: u32) -> f32 {
    let part = sum_over_subgroup(value, local);
    if (local % SUBGROUP == 0u) { reduced[local / SUBGROUP].x = part; }
    workgroupBarrier();
    var total = 0.0;
    for (var i = 0u; i < at_run_time(THREADS / SUBGROUP); i++) { total += reduced[i].x; }
    workgroupBarrier();
    return total;
}

fn max_of_all(value: f32, local: u32) -> f32 {
    let part = subgroupMax(value);
    if (local % SUBGROUP == 0u) { reduced[local / SUBGROUP].x = part; }
    workgroupBarrier();
    var most = reduced[0].x;
    for (var i = 1u; i < at_run_time(THREADS / SUBGROUP); i++) { most = max(most, reduced[i].x); }
    workgroupBarrier();
    return most;
}

// The sum over a team, known to its first thread.
fn sum_of_team(value: vec4<f32>, local: u32) -> vec4<f32> {
    let part = vec4<f32>(sum_over_subgroup(value.x, local), sum_over_subgroup(value.y, local),
        sum_over_subgroup(value.z, local), sum_over_subgroup(value.w, local));
    if (SUBGROUP == TEAM) { return part; }
    if (local % SUBGROUP == 0u) { reduced[local / SUBGROUP] = part; }
    workgroupBarrier();
    var total = vec4<f32>(-0.0); // the neutral element: -0 + x is x
    if (COMPACT == 0u) { total = reduced[local / SUBGROUP]; }
    for (var i = 1u - COMPACT; i < at_run_time(TEAM / SUBGROUP); i++) {
        total += reduced[min(local / SUBGROUP + i, THREADS / SUBGROUP - 1u)];
    }
    workgroupBarrier();
    return total;
}
