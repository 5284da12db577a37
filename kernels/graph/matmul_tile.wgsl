// Matrix products for many rows of x: a workgroup computes 64 rows by COLUMNS row4s, so that every number that it reads
// serves many sums. A thread has four rows and a row4; the next numbers are in flight while it works on those in
// workgroup memory. Short, for bare Vulkan and devices with little workgroup memory; others get matmul_block.wgsl.
// MATMUL_ROW_GROUPS is the number of workgroups for each 64 rows of x. x is never normed here.
override THREADS = 128u;
const COLUMNS = 8u; // of threads, in 16 rows
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "epilogue_functions.wgsl"
//!include "binary.wgsl"
//!include "floats.wgsl"
//!include "angle.wgsl"
//!include "matmul.wgsl"

const DEPTH = 32u; // of k at a time
const ROW4S = COLUMNS;
const X_VEC4S = 16u; // groups of four rows of x
const X_STRIDE = X_VEC4S + 1u; // one more, so that neighbours write to different banks
const W_STRIDE = ROW4S * 4u + 4u;
const X_EACH = X_VEC4S * DEPTH / THREADS;
const CHUNKS = ROW4S * 4u * (DEPTH / CHUNK); // of weights in a tile
const W_EACH = (CHUNKS + THREADS - 1u) / THREADS;
var<workgroup> tile_x: array<vec4<f32>, DEPTH * X_STRIDE>; // [k][four rows]
var<workgroup> tile_w: array<f32, DEPTH * W_STRIDE>;       // [k][row4][row]

// Element i of four rows of x from t on.
fn four_rows(args: u32, t: u32, i: u32) -> vec4<f32> {
    var y = vec4<f32>();
    if (i < arg(args, MATMUL_LENGTH)) {
        let at = arg(args, MATMUL_X) + t * arg(args, MATMUL_LENGTH) + i;
        if (t < arg(args, MATMUL_X_ROWS)) { y.x = load(at); }
        if (t + 1u < arg(args, MATMUL_X_ROWS)) { y.y = load(at + arg(args, MATMUL_LENGTH)); }
        if (t + 2u < arg(args, MATMUL_X_ROWS)) { y.z = load(at + 2u * arg(args, MATMUL_LENGTH)); }
        if (t + 3u < arg(args, MATMUL_X_ROWS)) { y.w = load(at + 3u * arg(args, MATMUL_LENGTH)); }
    }
    return y;
}

// Chunk number i of the tile: by chunks of a row, then rows.
fn chunk_of_tile(args: u32, part: u32, first_row4: u32, chunks: u32, from_chunk: u32, i: u32) -> bits_of_chunk {
    let row = i % (ROW4S * 4u);
    let q = row4_of(args, part, first_row4 + row / 4u, chunks);
    let c = min(from_chunk + i / (ROW4S * 4u), chunks - 1u);
    return fetch(matrix(q.at[row % 4u], q.chunks), q.rows[row % 4u] * chunks + c);
}

fn row4_at(k: u32, column: u32) -> vec4<f32> {
    let at = k * W_STRIDE + column * 4u;
    return vec4<f32>(tile_w[at], tile_w[at + 1u], tile_w[at + 2u], tile_w[at + 3u]);
}

// sums[r] += x[r] * w: a column of the matrix for each row of x.
fn outer(sums: mat4x4<f32>, x: vec4<f32>, w: vec4<f32>) -> mat4x4<f32> {
    return mat4x4<f32>(fma(vec4<f32>(x.x), w, sums[0]), fma(vec4<f32>(x.y), w, sums[1]),
                       fma(vec4<f32>(x.z), w, sums[2]), fma(vec4<f32>(x.w), w, sums[3]));
}

fn finish_rows(args: u32, part: u32, sums: mat4x4<f32>, row4: u32, chunks: u32, t: u32) {
    if (row4 >= arg(args, part + PART_ROW4S)) { return; }
    let q = row4_of(args, part, row4, chunks);
    var rows = sums;
    for (var i = 0u; i < 4u && t + i < arg(args, MATMUL_X_ROWS); i++) {
        finish(args, part, q.first, q.rows, rows[i], t + i, fetch_operands(args, part, q.rows, t + i));
    }
}

fn body(args: u32, v: u32, local: u32) {
    let k = arg(args, MATMUL_LENGTH);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let t0 = v / arg(args, MATMUL_ROW_GROUPS) * X_VEC4S * 4u;
    let p = part_of(args, v % arg(args, MATMUL_ROW_GROUPS) * ROW4S);
    let part = p.part;
    let first_row4 = v % arg(args, MATMUL_ROW_GROUPS) * ROW4S - p.begin;
    let column = local % COLUMNS;
    let row = local / COLUMNS;
    var x_next: array<vec4<f32>, X_EACH>;
    var w_next: array<bits_of_chunk, W_EACH>;
    var sums = mat4x4<f32>();
    for (var i = 0u; i < X_EACH; i++) {
        let e = i * THREADS + local;
        x_next[i] = four_rows(args, t0 + e / DEPTH * 4u, e % DEPTH);
    }
    for (var i = 0u; i < W_EACH; i++) {
        w_next[i] = chunk_of_tile(args, part, first_row4, chunks, 0u, min(i * THREADS + local, CHUNKS - 1u));
    }
    for (var k0 = 0u; k0 < k; k0 += DEPTH) {
        for (var i = 0u; i < X_EACH; i++) {
            let e = i * THREADS + local;
            tile_x[e % DEPTH * X_STRIDE + e / DEPTH] = x_next[i];
        }
        for (var i = 0u; i < W_EACH; i++) {
            let e = i * THREADS + local;
            if (e < CHUNKS) {
                let at = e / (ROW4S * 4u) * CHUNK * W_STRIDE + e % (ROW4S * 4u);
                for (var j = 0u; j < arg(args, MATMUL_CHUNK_VEC4S); j++) {
                    let w = weight_vec4(w_next[i], j);
                    tile_w[at + (4u * j) * W_STRIDE] = w.x;
                    tile_w[at + (4u * j + 1u) * W_STRIDE] = w.y;
                    tile_w[at + (4u * j + 2u) * W_STRIDE] = w.z;
                    tile_w[at + (4u * j + 3u) * W_STRIDE] = w.w;
                }
            }
        }
        workgroupBarrier();
        if (k0 + DEPTH < k) {
            for (var i = 0u; i < X_EACH; i++) {
                let e = i * THREADS + local;
                x_next[i] = four_rows(args, t0 + e / DEPTH * 4u, k0 + DEPTH + e % DEPTH);
            }
            for (var i = 0u; i < W_EACH; i++) {
                w_next[i] = chunk_of_tile(args, part, first_row4, chunks, (k0 + DEPTH) / CHUNK,
                    min(i * THREADS + local, CHUNKS - 1u));
            }
        }
        for (var i = 0u; i < DEPTH; i++) {
            sums = outer(sums, tile_x[i * X_STRIDE + row], row4_at(i, column));
        }
        workgroupBarrier();
    }
    finish_rows(args, part, sums, first_row4 + column, chunks, t0 + row * 4u);
}
