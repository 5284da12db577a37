// RMS norm of 896 elements by one workgroup, shifted by one place each step:
// x[i] = weights[i] * x[i + 1] / sqrt(mean(x^2) + epsilon).
const THREADS = 256u;
const N = 896u;
const EPSILON = 1e-6;
//!include "chain.wgsl"

var<workgroup> partial: array<f32, THREADS>;

fn step_body(v: u32, step: u32, local: u32) {
    let old = (step & 1u) * N;
    var sum = 0.0;
    for (var i = local; i < N; i += THREADS) {
        let x = load(old + i);
        sum += x * x;
    }
    partial[local] = sum;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if (local < half) { partial[local] += partial[local + half]; }
        workgroupBarrier();
    }
    let scale = inverseSqrt(partial[0] / f32(N) + EPSILON);
    for (var i = local; i < N; i += THREADS) {
        store(N - old + i, load(old + (i + 1u) % N) * scale * weights[i]);
    }
    workgroupBarrier();
}
