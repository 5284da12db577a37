// Matrix products for many rows of x: a workgroup makes TILE rows by 16 quads, and every number it reads serves all of
// them. Thread (i, j) has quad i and the rows j, j + 16, ...
// The arguments of matmul_vec.wgsl, but 2: workgroups for each TILE rows of x; x is never normed here.
const THREADS = 256u;
const TILE = 32u;
const DEPTH = 32u; // of k, at a time
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "unary.wgsl"
//!include "binary.wgsl"
//!include "matmul.wgsl"

const QUADS = 16u;
const ROWS = TILE / 16u; // of each thread
var<workgroup> tile_x: array<f32, TILE * DEPTH>;             // [row][k]
var<workgroup> tile_w: array<vec4<f32>, QUADS * DEPTH>;      // [k][quad]: the four rows of a quad side by side

fn body(v: u32, local: u32) {
    let k = arg(1);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let t0 = v / arg(2) * TILE;
    let quad = v % arg(2) * QUADS + local % QUADS;
    let q = quad_of(min(quad, arg(3) - 1u), chunks);
    var sums: array<vec4<f32>, ROWS>;
    for (var begin = 0u; begin < k; begin += DEPTH) {
        for (var i = local; i < TILE * DEPTH; i += THREADS) {
            let t = t0 + i / DEPTH;
            let at = begin + i % DEPTH;
            var value = 0.0;
            if (t < arg(10) && at < k) { value = load(arg(4) + t * k + at); }
            tile_x[i] = value;
        }
        // Thread (i, j) unpacks chunks j, j + 16, ... of the 4 * DEPTH / CHUNK of quad i.
        for (var i = local / QUADS; i < 4u * DEPTH / CHUNK; i += THREADS / QUADS) {
            let row = i % 4u;
            let c = i / 4u;
            if (begin / CHUNK + c < chunks) {
                var w = unpack(matrix(q.at[row], q.chunks), q.rows[row] * chunks + begin / CHUNK + c);
                for (var j = 0u; j < CHUNK; j++) { tile_w[(c * CHUNK + j) * QUADS + local % QUADS][row] = w[j / 4u][j % 4u]; }
            }
        }
        workgroupBarrier();
        for (var i = 0u; i < min(DEPTH, k - begin); i++) {
            let w = tile_w[i * QUADS + local % QUADS];
            for (var r = 0u; r < ROWS; r++) { sums[r] += tile_x[(r * 16u + local / QUADS) * DEPTH + i] * w; }
        }
        workgroupBarrier();
    }
    for (var r = 0u; r < ROWS; r++) {
        let t = t0 + r * 16u + local / QUADS;
        if (quad < arg(3) && t < arg(10)) { finish(q, sums[r], t); }
    }
}
