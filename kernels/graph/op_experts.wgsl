// Products with matrices that are chosen at run time, of several that lie one after the other in one matrix of weights
// (a mixture of experts): only the chosen ones are read. TEAM threads share four rows. In three forms: a product for
// each route; f(product) * second product for each route; or the products of a row's routes added up with their
// weights. (Where one row of x, or many, can be worked on faster: matmul_row.wgsl and op_experts_rows.wgsl.)
override THREADS = 64u;
const TEAM = 32u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "reduce_REDUCE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "clamped_glu.wgsl"

const TEAMS = THREADS / TEAM;

fn body(args: u32, v: u32, local: u32) {
    let k = arg(args, EXPERTS_LENGTH);
    let n = arg(args, EXPERTS_ROWS);
    let slots = arg(args, EXPERTS_SLOTS);
    let form = arg(args, EXPERTS_FORM);
    let computed = arg(args, EXPERTS_X_COMPUTED) == 1u;
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let tiles = (n + 4u * TEAMS - 1u) / (4u * TEAMS);
    let first = (v % tiles * TEAMS + local / TEAM) * 4u;
    let each = select(1u, slots, form == EXPERTS_MIXED); // routes that make one row of the result
    var sums: array<vec4<f32>, 2>;
    var biases: array<vec4<f32>, 2>;
    var squares = 0.0;
    for (var s = 0u; s < each; s++) {
        let slot = v / tiles * each + s;
        let routes = arg(args, EXPERTS_ROUTES) + slot / slots * 2u * slots + slot % slots;
        let expert = min(u32(polled(routes, true)), arg(args, EXPERTS_COUNT) - 1u);
        var share = 1.0;
        if (form == EXPERTS_MIXED) { share = polled(routes + slots, true); }
        let x = arg(args, ARG_X) + select(slot / slots, slot, arg(args, EXPERTS_X_OWN) == 1u) * k;
        for (var half = 0u; half < select(1u, 2u, form == EXPERTS_GATED); half++) {
            let m = matrix(select(arg(args, EXPERTS_WEIGHT), arg(args, EXPERTS_UP_WEIGHT), half == 1u),
                arg(args, EXPERTS_COUNT) * n * chunks);
            let bias = select(arg(args, EXPERTS_BIAS), arg(args, EXPERTS_UP_BIAS), half == 1u);
            for (var r = 0u; r < at_run_time(4u); r++) {
                let row = expert * n + min(first + r, n - 1u);
                var sum = sums[half][r];
                for (var c = local % TEAM; c < chunks; c += TEAM) {
                    let bits_here = fetch(m, row * chunks + c);
                    for (var i = c * CHUNK; i < min(k, c * CHUNK + at_run_time(CHUNK)); i++) {
                        var value = polled(x + i, computed) * share;
                        if (arg(args, EXPERTS_NORM_WEIGHT) > 0u) {
                            if (r == 0u && half == 0u) { squares = fma(value, value, squares); }
                            value *= load(arg(args, EXPERTS_NORM_WEIGHT) - 1u + i) +
                                arg_float(args, EXPERTS_NORM_OFFSET);
                        }
                        sum = fma(weight_vec4(bits_here, i % CHUNK / 4u)[i % 4u], value, sum);
                    }
                }
                sums[half][r] = sum;
                if (bias > 0u) { biases[half][r] = fma(share, load(bias - 1u + row), biases[half][r]); }
            }
        }
    }
    var scale = 1.0;
    if (arg(args, EXPERTS_NORM_WEIGHT) > 0u) {
        scale = inverseSqrt(sum_of_team(vec4<f32>(squares), local).x / f32(k) + arg_float(args, EXPERTS_NORM_EPSILON));
    }
    var y = fma(sum_of_team(sums[0], local), vec4<f32>(scale), biases[0]);
    var up = vec4<f32>();
    if (form == EXPERTS_GATED) { up = fma(sum_of_team(sums[1], local), vec4<f32>(scale), biases[1]); }
    if (local % TEAM != 0u) { return; }
    for (var r = 0u; r < at_run_time(4u) && first + r < n; r++) {
        let at = v / tiles * n + first + r;
        var result = y[r];
        if (form == EXPERTS_GATED) {
            if (arg(args, EXPERTS_ACT) == EXPERTS_CLAMPED_GLU) {
                let factors = glu_factors(result, up[r]);
                result = factors.x * factors.y;
            } else {
                result = function_of(arg(args, EXPERTS_ACT), result, 0.0, 0.0) * up[r];
            }
        }
        if (arg(args, EXPERTS_ADDED) > 0u) {
            result += polled(arg(args, EXPERTS_ADDED) - 1u + at, arg(args, EXPERTS_ADDED_COMPUTED) == 1u);
        }
        store(arg(args, ARG_OUT) + at, result);
    }
}
