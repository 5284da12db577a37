// For matmul_row.wgsl: matrices that are chosen at run time, of several that lie one after the other (a mixture of
// experts). A product for each route, gated or not, of one x or of an x for each (OWN_X); or, with MIXES, what the
// routes make is added up with their weights: then x has a piece for each, which its weight multiplies, and so has a
// row of the matrix, in another place.
var<workgroup> chosen_experts: array<u32, SLOTS>;
var<workgroup> chosen_weights: array<f32, SLOTS>;
const SLOT_CHUNKS = CHUNKS / select(1u, SLOTS, MIXES == 1u);
//!include "clamped_glu.wgsl"
//!include "polled.wgsl"

fn read_routes(args: u32, local: u32) {
    if (local < SLOTS) {
        let at = arg(args, CHOSEN_ROUTES) + local;
        chosen_experts[local] = min(u32(polled(at, true)), arg(args, CHOSEN_COUNT) - 1u);
        chosen_weights[local] = polled(at + SLOTS, true);
    }
    workgroupBarrier();
}

fn row4s_of_slot(args: u32) -> u32 { return arg(args, CHOSEN_ROWS) / select(4u, 2u, GATES == 1u); }

fn fetch_here(args: u32, row4: u32, chunk: u32) -> row4_bits {
    let c = min(chunk, CHUNKS - 1u);
    let each = row4s_of_slot(args);
    let expert = chosen_experts[select(row4 / each, c / SLOT_CHUNKS, MIXES == 1u)];
    let first = expert * arg(args, CHOSEN_ROWS);
    var q: row4_rows;
    q.chunks = arg(args, CHOSEN_COUNT) * arg(args, CHOSEN_ROWS) * SLOT_CHUNKS;
    q.at = vec4<u32>(part_arg(args, PART, PART_WEIGHT));
    q.rows = vec4<u32>(0u, 1u, 2u, 3u) + first + row4 % each * 4u;
    if (GATES == 1u) {
        q.rows = vec4<u32>(0u, 1u, 0u, 1u) + first + row4 % each * 2u;
        q.at = vec4<u32>(q.at.xy, vec2<u32>(part_arg(args, PART, PART_GATE_WEIGHT)));
    }
    return fetch_row4(q, SLOT_CHUNKS, c % SLOT_CHUNKS);
}

// Element i of x as it is multiplied.
fn weighed(i: u32, value: f32) -> f32 {
    if (MIXES == 0u) { return value; }
    // (where nothing is mixed, a row may be shorter than there are slots)
    return value * chosen_weights[min(i / max(LENGTH / SLOTS, 1u), SLOTS - 1u)];
}

fn biases_at(args: u32, bias: u32, rows: vec4<u32>) -> vec4<f32> {
    return vec4<f32>(load(bias - 1u + rows.x), load(bias - 1u + rows.y), load(bias - 1u + rows.z),
        load(bias - 1u + rows.w));
}

// The sums of a row4 with their biases, and as the factors of a clamped glu.
fn completed(args: u32, row4: u32, sums: vec4<f32>) -> vec4<f32> {
    let each = row4s_of_slot(args);
    let n = arg(args, CHOSEN_ROWS);
    var y = rounded(sums); // before anything is added
    if (arg(args, CHOSEN_BIAS) > 0u) {
        if (GATES == 1u) {
            let rows = vec4<u32>(0u, 1u, 0u, 1u) + chosen_experts[row4 / each] * n + row4 % each * 2u;
            y += vec4<f32>(biases_at(args, arg(args, CHOSEN_BIAS), rows).xy,
                biases_at(args, arg(args, CHOSEN_UP_BIAS), rows).xy);
        } else if (MIXES == 1u) {
            for (var s = 0u; s < SLOTS; s++) {
                y = fma(vec4<f32>(chosen_weights[s]), biases_at(args, arg(args, CHOSEN_BIAS),
                    vec4<u32>(0u, 1u, 2u, 3u) + chosen_experts[s] * n + row4 * 4u), y);
            }
        } else {
            y += biases_at(args, arg(args, CHOSEN_BIAS),
                vec4<u32>(0u, 1u, 2u, 3u) + chosen_experts[row4 / each] * n + row4 % each * 4u);
        }
    }
    if (GATES == 1u && arg(args, CHOSEN_CLAMPED) == 1u) {
        let a = glu_factors(y.x, y.z);
        let b = glu_factors(y.y, y.w);
        y = vec4<f32>(a.x, b.x, a.y, b.y);
    }
    return y;
}
