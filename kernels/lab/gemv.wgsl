// y = W x with W of 896 x 896 in f32: eight rows per workgroup, 32 threads a row.
const THREADS = 256u;
const N = 896u;
const LANES = 32u;
const ROWS = THREADS / LANES;
//!include "chain.wgsl"

var<workgroup> x: array<f32, N>;
var<workgroup> partial: array<f32, THREADS>;

fn step_body(v: u32, step: u32, local: u32) {
    let old = (step & 1u) * N;
    for (var i = local; i < N; i += THREADS) { x[i] = load(old + i); }
    workgroupBarrier();

    let row = v * ROWS + local / LANES;
    let lane = local % LANES;
    var sum = 0.0;
    for (var i = lane; i < N; i += LANES) { sum += weights[row * N + i] * x[i]; }
    partial[local] = sum;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if (lane < half) { partial[local] += partial[local + half]; }
        workgroupBarrier();
    }
    if (lane == 0u) { store(N - old + row, partial[local]); }
    workgroupBarrier();
}
