// Products with chosen matrices, as op_experts.wgsl, for many rows of x. A workgroup has rows of one expert's matrix
// and looks for the routes that lead there; it multiplies TILE_ROUTES of them at a time, so that a weight that is read
// serves them all. In two forms: a product for each route, or f(product) * second product.
override THREADS = 256u;
//!wgsl-only
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "clamped_glu.wgsl"

const TILE_ROWS = 64u; // of the matrix; of gated products half of them are of each matrix
const TILE_ROUTES = 32u;
const DEPTH = 32u; // elements of a row at a time
const LINE = TILE_ROWS + 1u; // so that threads use different banks
const X_LINE = DEPTH + 1u;
const ACROSS = 16u; // threads side by side: each has rows across, across + 16, ... and two routes
var<workgroup> tile_weights: array<f32, DEPTH * LINE>;
var<workgroup> tile_x: array<f32, TILE_ROUTES * X_LINE>;
var<workgroup> found: array<u32, TILE_ROUTES + THREADS>;
var<workgroup> found_count: atomic<u32>;
var<workgroup> found_so_far: u32;

// Row `row` of the tile: the place of its matrix and its number there.
fn place_of_row(args: u32, expert: u32, first: u32, row: u32) -> vec2<u32> {
    let n = arg(args, EXPERTS_ROWS);
    if (arg(args, EXPERTS_FORM) == EXPERTS_GATED) {
        return vec2<u32>(select(arg(args, EXPERTS_WEIGHT), arg(args, EXPERTS_UP_WEIGHT), row >= TILE_ROWS / 2u),
            expert * n + min(first + row % (TILE_ROWS / 2u), n - 1u));
    }
    return vec2<u32>(arg(args, EXPERTS_WEIGHT), expert * n + min(first + row, n - 1u));
}

fn biased(args: u32, bias: u32, row: u32, y: f32) -> f32 {
    if (bias == 0u) { return y; }
    return y + load(bias - 1u + row);
}

fn put(args: u32, expert: u32, route: u32, row: u32, y: f32, up: f32) {
    let n = arg(args, EXPERTS_ROWS);
    if (row >= n) { return; }
    var result = biased(args, arg(args, EXPERTS_BIAS), expert * n + row, y);
    if (arg(args, EXPERTS_FORM) == EXPERTS_GATED) {
        let other = biased(args, arg(args, EXPERTS_UP_BIAS), expert * n + row, up);
        if (arg(args, EXPERTS_ACT) == EXPERTS_CLAMPED_GLU) {
            let factors = glu_factors(result, other);
            result = factors.x * factors.y;
        } else {
            result = function_of(arg(args, EXPERTS_ACT), result, 0.0, 0.0) * other;
        }
    }
    store(arg(args, ARG_OUT) + route * n + row, result);
}

// The products of routes found[begin] to found[end - 1] with the tile's rows.
fn multiply(args: u32, expert: u32, first: u32, begin: u32, end: u32, local: u32) {
    let k = arg(args, EXPERTS_LENGTH);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let slots = arg(args, EXPERTS_SLOTS);
    let place = place_of_row(args, expert, first, local / 4u);
    let m = matrix(place.x, arg(args, EXPERTS_COUNT) * arg(args, EXPERTS_ROWS) * chunks);
    let x_route = found[min(begin + local / 8u, end - 1u)];
    let x = arg(args, ARG_X) + select(x_route / slots, x_route, arg(args, EXPERTS_X_OWN) == 1u) * k;
    let across = local % ACROSS;
    let down = local / ACROSS * 2u;
    var a = vec4<f32>();
    var b = vec4<f32>();
    for (var at = 0u; at < k; at += DEPTH) {
        for (var h = 0u; h < 2u; h++) {
            let i = local % 4u * 8u + h * 4u;
            var four = vec4<f32>();
            if (at + i < k) {
                four = weight_vec4(fetch(m, place.y * chunks + (at + i) / CHUNK), (at + i) % CHUNK / 4u);
            }
            for (var j = 0u; j < 4u; j++) { tile_weights[(i + j) * LINE + local / 4u] = four[j]; }
        }
        for (var j = 0u; j < 4u; j++) {
            let i = local % 8u * 4u + j;
            tile_x[local / 8u * X_LINE + i] = select(0.0, load(x + min(at + i, k - 1u)), at + i < k);
        }
        workgroupBarrier();
        for (var i = 0u; i < DEPTH; i++) {
            let w = vec4<f32>(tile_weights[i * LINE + across], tile_weights[i * LINE + across + ACROSS],
                tile_weights[i * LINE + across + 2u * ACROSS], tile_weights[i * LINE + across + 3u * ACROSS]);
            a = fma(w, vec4<f32>(tile_x[down * X_LINE + i]), a);
            b = fma(w, vec4<f32>(tile_x[(down + 1u) * X_LINE + i]), b);
        }
        workgroupBarrier();
    }
    for (var j = 0u; j < 2u; j++) {
        if (begin + down + j < end) {
            let route = found[begin + down + j];
            let y = select(a, b, j == 1u);
            if (arg(args, EXPERTS_FORM) == EXPERTS_GATED) {
                put(args, expert, route, first + across, y.x, y.z);
                put(args, expert, route, first + across + ACROSS, y.y, y.w);
            } else {
                for (var r = 0u; r < 4u; r++) { put(args, expert, route, first + across + r * ACROSS, y[r], 0.0); }
            }
        }
    }
    workgroupBarrier();
}

fn body(args: u32, v: u32, local: u32) {
    let slots = arg(args, EXPERTS_SLOTS);
    let all = arg(args, EXPERTS_X_ROWS) * slots;
    let each = select(TILE_ROWS, TILE_ROWS / 2u, arg(args, EXPERTS_FORM) == EXPERTS_GATED);
    let tiles = (arg(args, EXPERTS_ROWS) + each - 1u) / each;
    let expert = v / tiles;
    let first = v % tiles * each;
    if (local == 0u) { atomicStore(&found_count, 0u); }
    workgroupBarrier();
    for (var base = 0u; base < all; base += THREADS) {
        let route = base + local;
        let at = arg(args, EXPERTS_ROUTES) + min(route, all - 1u) / slots * 2u * slots + route % slots;
        if (route < all && u32(load(at)) == expert) {
            found[atomicAdd(&found_count, 1u)] = route;
        }
        workgroupBarrier();
        if (local == 0u) { found_so_far = atomicLoad(&found_count); }
        var have = workgroupUniformLoad(&found_so_far);
        let last = base + THREADS >= all;
        for (; have >= TILE_ROUTES || (last && have > 0u); have -= min(have, TILE_ROUTES)) {
            multiply(args, expert, first, have - min(have, TILE_ROUTES), have, local);
        }
        if (local == 0u) { atomicStore(&found_count, have); }
        workgroupBarrier();
    }
}
