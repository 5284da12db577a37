// Products with a matrix for each head, which lie one after the other in one matrix of weights: out[t, h] = x[t, h]
// times matrix h. TEAM threads share a row4.
override THREADS = 64u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "reduce_REDUCE.wgsl"

const TEAMS = THREADS / TEAM;

fn body(args: u32, v: u32, local: u32) {
    let k = arg(args, HEADS_LENGTH);
    let n = arg(args, HEADS_ROWS);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let tiles = (n + 4u * TEAMS - 1u) / (4u * TEAMS);
    let slot = v / tiles;
    let head = slot % arg(args, HEADS_COUNT);
    let x = arg(args, ARG_X) + slot * k;
    let computed = arg(args, HEADS_X_COMPUTED) == 1u;
    let first = (v % tiles * TEAMS + local / TEAM) * 4u;
    let m = matrix(arg(args, HEADS_WEIGHT), arg(args, HEADS_COUNT) * n * chunks);
    var sums = vec4<f32>();
    for (var c = local % TEAM; c < chunks; c += TEAM) {
        for (var r = 0u; r < at_run_time(4u); r++) {
            let bits_here = fetch(m, (head * n + min(first + r, n - 1u)) * chunks + c);
            var sum = sums[r];
            for (var i = 0u; i < at_run_time(CHUNK) && c * CHUNK + i < k; i++) {
                sum = fma(weight_vec4(bits_here, i / 4u)[i % 4u], polled(x + c * CHUNK + i, computed), sum);
            }
            sums[r] = sum;
        }
    }
    let totals = sum_of_team(sums, local);
    if (local % TEAM == 0u) {
        for (var r = 0u; r < at_run_time(4u) && first + r < n; r++) {
            store(arg(args, ARG_OUT) + slot * n + first + r, totals[r]);
        }
    }
}
