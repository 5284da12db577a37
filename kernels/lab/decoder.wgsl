// A decoder of 4 layers that takes in 64 tokens, one after the other, by one workgroup. A step is a norm, attention, a
// norm or the feed-forward of one layer for one token, so that all tokens are 1,024 steps: as many dispatches, or one.
//
// A generation of the state: how many steps are done, x, x normed; and the keys and values of all layers and tokens.
// These are written in place, in the first generation: only attention has them, whose steps all have the same parity.
const THREADS = 64u;
const D = 64u;
const HEADS = 2u;
const LAYERS = 4u;
const TOKENS = 64u;
const HIDDEN = 4u * D;
const HEAD = D / HEADS;
const X = 1u;
const Y = X + D;
const CACHE = Y + D;
const WIDTH = CACHE + LAYERS * TOKENS * 2u * D;
// The weights: what each token is looked up as; of each layer the rows of q, k and v, output, up and down.
const QKV = TOKENS * D;
const OUTPUT = 3u * D * D;
const UP = OUTPUT + D * D;
const DOWN = UP + HIDDEN * D;
const LAYER = DOWN + D * HIDDEN;
const EPSILON = 1e-5;
//!include "chain.wgsl"

var<workgroup> done: u32;
var<workgroup> y: array<f32, D>;
var<workgroup> q: array<f32, D>;
var<workgroup> mixed: array<f32, D>;
var<workgroup> hidden: array<f32, HIDDEN>;
var<workgroup> partial: array<f32, THREADS>;

fn sum_of_all(value: f32, local: u32) -> f32 {
    partial[local] = value;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if (local < half) { partial[local] += partial[local + half]; }
        workgroupBarrier();
    }
    let sum = partial[0];
    workgroupBarrier();
    return sum;
}

fn layer_norm(x: f32, local: u32) -> f32 {
    let middle = x - sum_of_all(x, local) / f32(D);
    return middle * inverseSqrt(sum_of_all(middle * middle, local) / f32(D) + EPSILON);
}

fn product_with_y(row: u32) -> f32 {
    var sum = 0.0;
    for (var i = 0u; i < D; i++) { sum = fma(weights[row + i], y[i], sum); }
    return sum;
}

// Keys, then values, of a token in a layer.
fn cached(layer: u32, token: u32) -> u32 { return CACHE + (layer * TOKENS + token) * 2u * D; }

// An element of a head's mean of the values, weighted by how well their keys fit.
fn attention(layer: u32, token: u32, local: u32) -> f32 {
    let head = local / HEAD * HEAD;
    var most = -3.4e38;
    var total = 0.0;
    var sum = 0.0;
    for (var t = 0u; t <= token; t++) {
        var score = 0.0;
        for (var i = 0u; i < HEAD; i++) { score = fma(q[head + i], load(cached(layer, t) + head + i), score); }
        score *= inverseSqrt(f32(HEAD));
        let now = max(most, score);
        let share = exp(score - now);
        let kept = exp(most - now);
        total = fma(total, kept, share);
        sum = fma(sum, kept, share * load(cached(layer, t) + D + local));
        most = now;
    }
    return sum / total;
}

fn step_body(v: u32, step: u32, local: u32) {
    let old = (step & 1u) * WIDTH;
    let next = WIDTH - old;
    if (local == 0u) { done = u32(load(old)); }
    let count = workgroupUniformLoad(&done);
    let token = count / (4u * LAYERS);
    let layer = count / 4u % LAYERS;
    let w = QKV + layer * LAYER;
    var x = load(old + X + local);
    if (count % (4u * LAYERS) == 0u) { x = weights[token % TOKENS * D + local]; }
    y[local] = load(old + Y + local);
    workgroupBarrier();
    switch (count % 4u) {
        case 1u: {
            q[local] = product_with_y(w + local * D);
            store(cached(layer, token) + local, product_with_y(w + (D + local) * D));
            store(cached(layer, token) + D + local, product_with_y(w + (2u * D + local) * D));
            storageBarrier();
            workgroupBarrier();
            mixed[local] = attention(layer, token, local);
            workgroupBarrier();
            for (var i = 0u; i < D; i++) { x = fma(weights[w + OUTPUT + local * D + i], mixed[i], x); }
        }
        case 3u: {
            for (var row = local; row < HIDDEN; row += THREADS) { // silu
                let up = product_with_y(w + UP + row * D);
                hidden[row] = up / (1.0 + exp(-up));
            }
            workgroupBarrier();
            for (var i = 0u; i < HIDDEN; i++) { x = fma(weights[w + DOWN + local * HIDDEN + i], hidden[i], x); }
        }
        default: { store(next + Y + local, layer_norm(x, local)); }
    }
    store(next + X + local, x);
    if (local == 0u) { store(next, f32(count + 1u)); }
    workgroupBarrier();
}
