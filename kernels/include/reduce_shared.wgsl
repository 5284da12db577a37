// Sums and maxima over a workgroup, and sums over its teams of TEAM threads, through workgroup memory.
var<workgroup> reduced: array<vec4<f32>, THREADS>;

fn sum_of_all(value: f32, local: u32) -> f32 {
    reduced[local].x = value;
    workgroupBarrier();
    for (var half = at_run_time(THREADS / 2u); half > 0u; half /= 2u) {
        if (local < half) { reduced[local].x += reduced[local + half].x; }
        workgroupBarrier();
    }
    let total = reduced[0].x;
    workgroupBarrier();
    return total;
}

fn max_of_all(value: f32, local: u32) -> f32 {
    reduced[local].x = value;
    workgroupBarrier();
    for (var half = at_run_time(THREADS / 2u); half > 0u; half /= 2u) {
        if (local < half) { reduced[local].x = max(reduced[local].x, reduced[local + half].x); }
        workgroupBarrier();
    }
    let most = reduced[0].x;
    workgroupBarrier();
    return most;
}

// The sum over a team, known to its first thread.
fn sum_of_team(value: vec4<f32>, local: u32) -> vec4<f32> {
    reduced[local] = value;
    workgroupBarrier();
    for (var half = at_run_time(TEAM / 2u); half > 0u; half /= 2u) {
        if (local % TEAM < half) { reduced[local] += reduced[local + half]; }
        workgroupBarrier();
    }
    let total = reduced[local];
    workgroupBarrier();
    return total;
}
