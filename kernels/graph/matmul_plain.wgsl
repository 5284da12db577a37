// Matrix products for software, where compiling takes longer than running, and each access to memory that stands in the text
// takes milliseconds of it: a thread has a quad to itself, so that nothing is shared and nobody waits. Neighbouring threads run as one
// vector. What a kernel never needs is not even in its text. Arguments: kernels/include/matmul.wgsl.
const THREADS = 8u;
const NORMS = 1u;
const GATES = 1u;
const TURNS = 1u;
const STATES = 1u;
const OPERANDS = 1u;
const FUNCTIONS = 1u;
const AFTERS = 1u; // one of these two
const PLACED = 1u; // one of turns and states
const APART = 1u; // a dispatch of its own; else TABLE
const TABLE = 0u;
const PARTS = 1u; // 0: there never is more than one
const PART = 16u;
const PART_WORDS = 32u;
//!wgsl-only
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!for _ FUNCTIONS
//!include "after.wgsl"
//!end
//!for _ OPERANDS
//!include "binary.wgsl"
//!end
//!for _ TURNS
//!end

// Argument i of a part. In a dispatch of its own a compiler is told that parts begin with whole vectors of arguments.
//!for _ APART
fn word(args: u32, part: u32, i: u32) -> u32 { return arguments[part / 4u + i / 4u][i % 4u]; }
//!end
//!for _ TABLE
fn word(args: u32, part: u32, i: u32) -> u32 { return arg(args, part + i); }
//!end

fn body(args: u32, v: u32, local: u32) {
    let k = arg(args, 1);
    let chunks = k / CHUNK;
    let t = v / arg(args, 2);
    for (var start = v % arg(args, 2) * THREADS; start < arg(args, 3); start += arg(args, 2) * THREADS) {
        var part = PART; // the same for the whole workgroup
        var begin = 0u;
//!for _ PARTS
        for (var i = 1u; i < arg(args, 9); i++) {
            if (start >= arg(args, part)) {
                begin = arg(args, part);
                part += PART_WORDS;
            }
        }
//!end
        let quad = start + local - begin;
        if (quad >= word(args, part, 14u)) { continue; }
        let form = word(args, part, 4u);
        let count = word(args, part, 1u);
        // Two rows side by side, and two more so far from them, which may be of another matrix.
        var first = quad * 4u;
        var apart = 2u;
        var other_at = word(args, part, 2u);
//!for _ GATES
        if (form == 1u) {
            first = quad * 2u;
            apart = 0u;
            other_at = word(args, part, 3u);
        }
//!end
//!for _ TURNS
        if (form == 2u) {
            apart = word(args, part, 10u) / 2u;
            first = quad / (apart / 2u) * 2u * apart + quad % (apart / 2u) * 2u;
        }
//!end
        let ends = select(4u, 2u, form == 1u); // so many sums are left in the end
        var rows = min(vec4<u32>(0u, 1u, apart, apart + 1u) + first, vec4<u32>(count - 1u)); // the last quad may be short
        var sums = vec4<f32>();
//!for _ NORMS
        var squares = 0.0;
//!end
        for (var i = 0u; i < k; i += 4u) {
            var x = vec4<f32>();
            for (var j = 0u; j < at_run_time(4u); j++) {
                var value = load(arg(args, 4) + t * k + i + j);
//!for _ NORMS
                if (arg(args, 5) == 1u) {
                    squares += value * value;
                    value *= load(arg(args, 6) + i + j) + arg_float(args, 8);
                }
//!end
                x[j] = value;
            }
            for (var r = 0u; r < at_run_time(4u); r++) {
                let m = matrix(select(word(args, part, 2u), other_at, r > 1u), count * chunks);
                sums[r] += dot(four(fetch(m, rows[r] * chunks + i / CHUNK), i / 4u % (CHUNK / 4u)), x);
            }
        }
//!for _ NORMS
        if (arg(args, 5) == 1u) { sums *= inverseSqrt(squares / f32(k) + arg_float(args, 7)); }
//!end
//!for _ AFTERS
        for (var i = 0u; i < word(args, part, 15u); i++) {
            let kind = word(args, part, 16u + 4u * i);
            let a = word(args, part, 18u + 4u * i);
            let b = word(args, part, 19u + 4u * i);
            for (var r = 0u; r < ends; r++) {
//!for _ FUNCTIONS
                if (kind < 256u) { sums[r] = function_of(kind, sums[r], bitcast<f32>(a), bitcast<f32>(b)); }
//!end
//!for _ OPERANDS
                if (kind >= 256u) {
                    let other = vec4<f32>(load(word(args, part, 17u + 4u * i) + rows[r] + a % 2u * t * word(args, part, 7u)));
                    sums[r] = combine(kind - 256u, select(vec4<f32>(sums[r]), other, b == 1u), select(other, vec4<f32>(sums[r]), b == 1u)).x;
                }
//!end
            }
        }
//!end
//!for _ GATES
        if (form == 1u) { sums = vec4<f32>(sums.xy * sums.zw, sums.zw); }
//!end
//!for _ PLACED
        let position = load_word(word(args, part, 8u)) + t;
//!end
//!for _ TURNS
        for (var j = 0u; j < select(0u, 2u, form > 1u); j++) {
            let size = word(args, part, 10u);
            let i = select(first % size, first % size / 2u, form == 3u) + j;
            var angle = f32(position) * exp2(-2.0 * f32(i) / f32(size) * bitcast<f32>(word(args, part, 11u)));
            if (word(args, part, 13u) > 0u) { angle /= load(word(args, part, 13u) - 1u + i); }
            let c = cos(angle) * bitcast<f32>(word(args, part, 12u));
            let s = sin(angle) * bitcast<f32>(word(args, part, 12u));
            let one = select(j, 2u * j, form == 3u);
            let two = select(j + 2u, 2u * j + 1u, form == 3u);
            let y = vec2<f32>(sums[one], sums[two]);
            sums[one] = fma(y.x, c, -(y.y * s));
            sums[two] = fma(y.x, s, y.y * c);
        }
//!end
        for (var r = 0u; r < ends; r++) {
            let row = first + r % 2u + select(0u, apart, r > 1u);
            if (row < count) {
//!for _ STATES
                // Rows of a state have an even number of elements.
                let element = position * word(args, part, 7u) + row;
                if (word(args, part, 5u) > 0u) {
                    let halves = word(args, part, 5u) == 2u;
                    if (position < word(args, part, 9u) && (!halves || r % 2u == 0u)) {
                        store_state_word(word(args, part, 6u) + select(element, element / 2u, halves), select(bitcast<u32>(sums[r]), pack2x16float(vec2<f32>(sums[r], sums[r + 1u])), halves));
                    }
                    continue;
                }
//!end
                store(word(args, part, 6u) + t * word(args, part, 7u) + row, sums[r]);
            }
        }
    }
}
