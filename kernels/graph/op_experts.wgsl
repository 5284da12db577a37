// Products with a matrix that is chosen at run time, one of several that lie one after the other in one matrix of
// weights (a mixture of experts): out[t, s] = x[t] or x[t, s] times matrix ids[t, s]. Only the chosen ones are read.
// TEAM threads share a row4.
override THREADS = 64u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "reduce_REDUCE.wgsl"

const TEAMS = THREADS / TEAM;

fn body(args: u32, v: u32, local: u32) {
    let k = arg(args, EXPERTS_LENGTH);
    let n = arg(args, EXPERTS_ROWS);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let tiles = (n + 4u * TEAMS - 1u) / (4u * TEAMS);
    let slot = v / tiles;
    let expert = min(load_word(arg(args, EXPERTS_IDS) + slot), arg(args, EXPERTS_COUNT) - 1u);
    let x = arg(args, ARG_X) + slot / arg(args, EXPERTS_X_SLOTS) * k;
    let first = (v % tiles * TEAMS + local / TEAM) * 4u;
    let m = matrix(arg(args, EXPERTS_WEIGHT), arg(args, EXPERTS_COUNT) * n * chunks);
    var sums = vec4<f32>();
    for (var c = local % TEAM; c < chunks; c += TEAM) {
        for (var r = 0u; r < at_run_time(4u); r++) {
            let bits_here = fetch(m, (expert * n + min(first + r, n - 1u)) * chunks + c);
            var sum = sums[r];
            for (var i = 0u; i < at_run_time(CHUNK) && c * CHUNK + i < k; i++) {
                sum = fma(weight_vec4(bits_here, i / 4u)[i % 4u], load(x + c * CHUNK + i), sum);
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
