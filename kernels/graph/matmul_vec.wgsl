// Matrix products for one row of x, or a few: TEAM threads share a quad, each with chunks of its own, so that the
// weights are read once, side by side. x lies in workgroup memory, already multiplied by its norm's weight; the norm
// itself is one number, and comes in at the end.
const THREADS = 256u;
const TEAM = 32u;
const SEGMENT = 2048u; // elements of x that are there at a time
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "reduce_HOW.wgsl"
//!include "unary.wgsl"
//!include "binary.wgsl"
//!include "matmul.wgsl"

const TEAMS = THREADS / TEAM;
var<workgroup> staged: array<vec4<f32>, SEGMENT / 4u>;

fn normed(x: u32, i: u32) -> f32 {
    if (i >= arg(1)) { return 0.0; }
    if (arg(5) == 0u) { return load(x + i); }
    return load(x + i) * (load(arg(6) + i) + arg_float(8));
}

fn square(x: u32, i: u32) -> f32 {
    if (arg(5) == 0u || i >= arg(1)) { return 0.0; }
    let value = load(x + i);
    return value * value;
}

// Elements of x from `from_element` on; returns this thread's part of their squares' sum.
fn stage(x: u32, from_element: u32, local: u32) -> f32 {
    var squares = 0.0;
    let count = min(SEGMENT, (arg(1) + 31u) / 32u * 32u - from_element);
    for (var i = local; i < count / 4u; i += THREADS) {
        let at = from_element + i * 4u;
        staged[i] = vec4<f32>(normed(x, at), normed(x, at + 1u), normed(x, at + 2u), normed(x, at + 3u));
        squares += square(x, at) + square(x, at + 1u) + square(x, at + 2u) + square(x, at + 3u);
    }
    return squares;
}

fn dot_chunk(m: matrix, c: u32, x4: u32) -> f32 {
    var w = unpack(m, c);
    var sum = 0.0;
    for (var i = 0u; i < CHUNK / 4u; i++) { sum += dot(w[i], staged[x4 + i]); }
    return sum;
}

fn body(v: u32, local: u32) {
    let k = arg(1);
    let t = v / arg(2);
    let x = arg(4) + t * k;
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let lane = local % TEAM;
    let several = k > SEGMENT;
    var squares = 0.0;
    var scale = 1.0;
    for (var begin = v % arg(2) * TEAMS; begin < arg(3); begin += arg(2) * TEAMS) {
        let first = begin == v % arg(2) * TEAMS;
        let quad = begin + local / TEAM;
        let q = quad_of(min(quad, arg(3) - 1u), chunks);
        var sums = vec4<f32>();
        for (var segment = 0u; segment < k; segment += SEGMENT) {
            if (first || several) {
                workgroupBarrier();
                let some = stage(x, segment, local);
                if (first) { squares += some; }
                workgroupBarrier();
            }
            let end = min(chunks, (segment + SEGMENT) / CHUNK);
            for (var c = segment / CHUNK + lane; c < end; c += TEAM) {
                let x4 = (c * CHUNK - segment) / 4u;
                sums.x += dot_chunk(matrix(q.at.x, q.chunks), q.rows.x * chunks + c, x4);
                sums.y += dot_chunk(matrix(q.at.y, q.chunks), q.rows.y * chunks + c, x4);
                sums.z += dot_chunk(matrix(q.at.z, q.chunks), q.rows.z * chunks + c, x4);
                sums.w += dot_chunk(matrix(q.at.w, q.chunks), q.rows.w * chunks + c, x4);
            }
        }
        if (first && arg(5) == 1u) { scale = inverseSqrt(sum_of_all(squares, local) / f32(k) + arg_float(7)); }
        let total = sum_of_team(sums, local);
        if (lane == 0u && quad < arg(3)) { finish(q, total * scale, t); }
    }
}
