// Matrix products for one row of x, or a few: TEAM threads share a quad, each with chunks of its own, so that the
// weights are read once, side by side, and always some steps before they are needed. x lies in workgroup memory,
// already multiplied by its norm's weight; the norm itself is one number, and comes in at the end.
const THREADS = 256u;
const TEAM = 32u;
const SEGMENT = 2048u; // elements of x that are there at a time
const LENGTH = 0u;     // of a row, if it is known beforehand
const NORMS = 1u;      // 0: x is never normed
const JOINS = 1u;      // 0: x is never in parts
const AHEAD = 0u;      // 1: weights are fetched a step before they are needed, by code that is many times as long
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!include "reduce_HOW.wgsl"
//!include "after.wgsl"
//!include "binary.wgsl"
//!include "matmul.wgsl"
//!include "attention_parts.wgsl"

const TEAMS = THREADS / TEAM;
var<workgroup> staged: array<vec4<f32>, SEGMENT / 4u>;

fn length_of_row(args: u32) -> u32 {
    if (LENGTH > 0u) { return LENGTH; }
    return arg(args, 1);
}

// Four elements of x, put together from the parts of their head, four parts at a time.
fn joined(args: u32, x: u32, i: u32) -> vec4<f32> {
    let size = arg(args, 6);
    let splits = arg(args, 7);
    let first = i / size * splits;
    let at = x + first * (size + 2u) + i % size;
    var sum = vec4<f32>();
    for (var s = 0u; s < splits; s += 4u) {
        let b = min(s + 1u, splits - 1u);
        let c = min(s + 2u, splits - 1u);
        let d = min(s + 3u, splits - 1u);
        let one = four_at(at + s * (size + 2u));
        let two = four_at(at + b * (size + 2u));
        let three = four_at(at + c * (size + 2u));
        let four = four_at(at + d * (size + 2u));
        sum += part_weight[first + s] * one + select(0.0, part_weight[first + b], s + 1u < splits) * two +
               select(0.0, part_weight[first + c], s + 2u < splits) * three + select(0.0, part_weight[first + d], s + 3u < splits) * four;
    }
    return sum;
}

fn four_at(i: u32) -> vec4<f32> { return vec4<f32>(load(i), load(i + 1u), load(i + 2u), load(i + 3u)); }

// Four elements from place i on, of a list that ends with the row; zeros beyond.
fn four_of_row(args: u32, list: u32, i: u32) -> vec4<f32> {
    if (i + 3u < length_of_row(args)) { return four_at(list + i); }
    var y = vec4<f32>();
    if (i < length_of_row(args)) { y.x = load(list + i); }
    if (i + 1u < length_of_row(args)) { y.y = load(list + i + 1u); }
    if (i + 2u < length_of_row(args)) { y.z = load(list + i + 2u); }
    return y;
}

// Elements of x from `from_element` on; returns this thread's part of their squares' sum.
fn stage(args: u32, x: u32, from_element: u32, local: u32) -> f32 {
    var squares = 0.0;
    let count = min(SEGMENT, (length_of_row(args) + 31u) / 32u * 32u - from_element);
    if (JOINS == 1u && arg(args, 5) == 2u) { weigh_parts(x, length_of_row(args) / arg(args, 6) * arg(args, 7), arg(args, 7), arg(args, 6), local); }
    for (var i = local; i < count / 4u; i += THREADS) {
        let at = from_element + i * 4u;
        var value = vec4<f32>();
        if (JOINS == 1u && arg(args, 5) == 2u) {
            if (at < length_of_row(args)) { value = joined(args, x, at); }
        } else {
            value = four_of_row(args, x, at);
        }
        if (NORMS == 1u && arg(args, 5) == 1u) {
            squares += dot(value, value);
            value *= four_of_row(args, arg(args, 6), at) + arg_float(args, 8);
        }
        staged[i] = value;
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

fn dot_chunk(args: u32, b: bits_of_chunk, x4: u32) -> f32 {
    var sum = 0.0;
    let fours = select(arg(args, 11), CHUNK / 4u, AHEAD == 1u);
    for (var i = 0u; i < fours; i++) { sum += dot(four(b, i), staged[x4 + i]); }
    return sum;
}

// Without fetching ahead: one row after the other.
fn dot_rows(args: u32, q: quad_rows, chunks: u32, c: u32, x4: u32) -> vec4<f32> {
    var at = q.at;
    var rows = q.rows;
    var sums = vec4<f32>();
    for (var r = 0u; r < arg(args, 12); r++) { sums[r] = dot_chunk(args, fetch(matrix(at[r], q.chunks), rows[r] * chunks + c), x4); }
    return sums;
}

fn dot_quad(args: u32, b: quad_bits, x4: u32) -> vec4<f32> {
    return vec4<f32>(dot_chunk(args, b.x, x4), dot_chunk(args, b.y, x4), dot_chunk(args, b.z, x4), dot_chunk(args, b.w, x4));
}

fn body(args: u32, v: u32, local: u32) {
    let k = length_of_row(args);
    let t = v / arg(args, 2);
    // Parts of split attention lie there for one row of x only.
    let x = arg(args, 4) + select(t * k, 0u, JOINS == 1u && arg(args, 5) == 2u);
    let chunks = (k + CHUNK - 1u) / CHUNK;
    let lane = local % TEAM;
    let several = k > SEGMENT;
    let start = v % arg(args, 2) * TEAMS;
    var squares = 0.0;
    var scale = 1.0;
    let team = local / TEAM;
    var p = part_of(args, start);
    var q = quad_of(args, p.part, start - p.begin + team, chunks);
    var bits: quad_bits;
    if (AHEAD == 1u) { bits = fetch_quad(q, chunks, lane); }
    for (var begin = start; begin < arg(args, 3); begin += arg(args, 2) * TEAMS) {
        var sums = vec4<f32>();
        var r: ready;
        if (lane == 0u) { r = get_ready(args, p.part, q.rows, t); }
        for (var segment = 0u; segment < k; segment += SEGMENT) {
            if (begin == start || several) {
                workgroupBarrier();
                let some = stage(args, x, segment, local);
                if (begin == start) { squares += some; }
                workgroupBarrier();
            }
            let end = min(chunks, (segment + SEGMENT) / CHUNK);
            var c = segment / CHUNK + lane;
            if (AHEAD == 1u) {
                if (segment > 0u) { bits = fetch_quad(q, chunks, c); }
                for (; c < end; c += TEAM) {
                    let following = fetch_quad(q, chunks, c + TEAM);
                    sums += dot_quad(args, bits, (c * CHUNK - segment) / 4u);
                    bits = following;
                }
            } else {
                for (; c < end; c += TEAM) { sums += dot_rows(args, q, chunks, c, (c * CHUNK - segment) / 4u); }
            }
        }
        let done = q;
        let place = p;
        let next = begin + arg(args, 2) * TEAMS;
        if (next < arg(args, 3)) {
            p = part_of(args, next);
            q = quad_of(args, p.part, next - p.begin + team, chunks);
            if (AHEAD == 1u) { bits = fetch_quad(q, chunks, lane); }
        }
        if (NORMS == 1u && begin == start && arg(args, 5) == 1u) { scale = inverseSqrt(sum_of_all(squares, local) / f32(k) + arg_float(args, 7)); }
        let total = sum_of_team(sums, local);
        if (lane == 0u && begin - place.begin + team < arg(args, place.part + 14u)) { finish(args, place.part, done.first, done.rows, total * scale, t, r); }
    }
}
