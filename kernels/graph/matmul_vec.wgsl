// Matrix products for one row of x, or a few: TEAM threads share a quad, each with chunks of its own, so that the
// weights are read once, side by side, and always some steps before they are needed. x lies in workgroup memory,
// already multiplied by its norm's weight; the norm itself is one number, and comes in at the end.
const THREADS = 256u;
const TEAM = 32u;
const SEGMENT = 2048u; // elements of x that are there at a time
const LENGTH = 0u;     // of a row, if it is known beforehand
const AHEAD = 0u;      // 1: weights are fetched a step before they are needed; the code is four times as long
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "reduce_HOW.wgsl"
//!include "unary.wgsl"
//!include "binary.wgsl"
//!include "matmul.wgsl"
//!include "attention_parts.wgsl"

const TEAMS = THREADS / TEAM;
var<workgroup> staged: array<vec4<f32>, SEGMENT / 4u>;

fn length_of_row() -> u32 {
    if (LENGTH > 0u) { return LENGTH; }
    return arg(1);
}

// Four elements of x, put together from the parts of their head.
fn joined(x: u32, i: u32) -> vec4<f32> {
    let size = arg(6);
    let first = i / size * arg(7);
    var at = x + first * (size + 2u) + i % size;
    var sum = vec4<f32>();
    for (var s = 0u; s < arg(7); s++) {
        let w = part_weight[first + s];
        if (w > 0.0) { sum += w * vec4<f32>(load(at), load(at + 1u), load(at + 2u), load(at + 3u)); }
        at += size + 2u;
    }
    return sum;
}

fn normed(x: u32, i: u32) -> f32 {
    if (i >= length_of_row()) { return 0.0; }
    if (arg(5) == 0u) { return load(x + i); }
    return load(x + i) * (load(arg(6) + i) + arg_float(8));
}

fn square(x: u32, i: u32) -> f32 {
    if (arg(5) != 1u || i >= length_of_row()) { return 0.0; }
    let value = load(x + i);
    return value * value;
}

// Elements of x from `from_element` on; returns this thread's part of their squares' sum.
fn stage(x: u32, from_element: u32, local: u32) -> f32 {
    var squares = 0.0;
    let count = min(SEGMENT, (length_of_row() + 31u) / 32u * 32u - from_element);
    if (arg(5) == 2u) {
        weigh_parts(x, length_of_row() / arg(6) * arg(7), arg(7), arg(6), local);
        for (var i = local; i < count / 4u; i += THREADS) {
            if (from_element + i * 4u < length_of_row()) { staged[i] = joined(x, from_element + i * 4u); } else { staged[i] = vec4<f32>(); }
        }
        return 0.0;
    }
    for (var i = local; i < count / 4u; i += THREADS) {
        let at = from_element + i * 4u;
        staged[i] = vec4<f32>(normed(x, at), normed(x, at + 1u), normed(x, at + 2u), normed(x, at + 3u));
        squares += square(x, at) + square(x, at + 1u) + square(x, at + 2u) + square(x, at + 3u);
    }
    return squares;
}

// A chunk of each row of a quad.
struct quad_bits {
    x: bits_of_chunk,
    y: bits_of_chunk,
    z: bits_of_chunk,
    w: bits_of_chunk,
}

fn fetch_quad(q: quad_rows, chunks: u32, chunk: u32) -> quad_bits {
    let c = min(chunk, chunks - 1u);
    return quad_bits(fetch(matrix(q.at.x, q.chunks), q.rows.x * chunks + c), fetch(matrix(q.at.y, q.chunks), q.rows.y * chunks + c),
                     fetch(matrix(q.at.z, q.chunks), q.rows.z * chunks + c), fetch(matrix(q.at.w, q.chunks), q.rows.w * chunks + c));
}

fn dot_chunk(b: bits_of_chunk, x4: u32) -> f32 {
    var w = unpack(b);
    var sum = 0.0;
    for (var i = 0u; i < CHUNK / 4u; i++) { sum += dot(w[i], staged[x4 + i]); }
    return sum;
}

// Without fetching ahead: one row after the other.
fn dot_rows(q: quad_rows, chunks: u32, c: u32, x4: u32) -> vec4<f32> {
    var at = q.at;
    var rows = q.rows;
    var sums = vec4<f32>();
    for (var r = 0u; r < 4u; r++) { sums[r] = dot_chunk(fetch(matrix(at[r], q.chunks), rows[r] * chunks + c), x4); }
    return sums;
}

fn dot_quad(b: quad_bits, x4: u32) -> vec4<f32> {
    return vec4<f32>(dot_chunk(b.x, x4), dot_chunk(b.y, x4), dot_chunk(b.z, x4), dot_chunk(b.w, x4));
}

fn body(v: u32, local: u32) {
    let k = length_of_row();
    let t = v / arg(2);
    // Parts of split attention lie there for one row of x only.
    let x = arg(4) + select(t * k, 0u, arg(5) == 2u);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let lane = local % TEAM;
    let several = k > SEGMENT;
    let start = v % arg(2) * TEAMS;
    var squares = 0.0;
    var scale = 1.0;
    var q = quad_of(min(start + local / TEAM, arg(3) - 1u), chunks);
    var bits: quad_bits;
    if (AHEAD == 1u) { bits = fetch_quad(q, chunks, lane); }
    for (var begin = start; begin < arg(3); begin += arg(2) * TEAMS) {
        let quad = begin + local / TEAM;
        var sums = vec4<f32>();
        for (var segment = 0u; segment < k; segment += SEGMENT) {
            if (begin == start || several) {
                workgroupBarrier();
                let some = stage(x, segment, local);
                if (begin == start) { squares += some; }
                workgroupBarrier();
            }
            let end = min(chunks, (segment + SEGMENT) / CHUNK);
            var c = segment / CHUNK + lane;
            if (AHEAD == 1u) {
                if (segment > 0u) { bits = fetch_quad(q, chunks, c); }
                for (; c < end; c += TEAM) {
                    let following = fetch_quad(q, chunks, c + TEAM);
                    sums += dot_quad(bits, (c * CHUNK - segment) / 4u);
                    bits = following;
                }
            } else {
                for (; c < end; c += TEAM) { sums += dot_rows(q, chunks, c, (c * CHUNK - segment) / 4u); }
            }
        }
        let done = q;
        if (begin + arg(2) * TEAMS < arg(3)) {
            q = quad_of(min(quad + arg(2) * TEAMS, arg(3) - 1u), chunks);
            if (AHEAD == 1u) { bits = fetch_quad(q, chunks, lane); }
        }
        if (begin == start && arg(5) == 1u) { scale = inverseSqrt(sum_of_all(squares, local) / f32(k) + arg_float(7)); }
        let total = sum_of_team(sums, local);
        if (lane == 0u && quad < arg(3)) { finish(done, total * scale, t); }
    }
}
