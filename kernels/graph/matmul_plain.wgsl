// Matrix products for software, where compiling takes longer than running, and every memory access in the text takes
// milliseconds of it. A thread has a row4 to itself, so that nothing is shared and no thread waits; neighbouring
// threads run as one vector. What a kernel never needs is not in its text at all. Epilogues as in include/matmul.wgsl.
//
// There is a form for few rows of x, one at a time (FEW), and one for many (MANY), which needs subgroups: there every
// load takes as long as one for each thread, even if all threads read the same word. So threads read different words of
// x, each four elements of a row, and broadcast them; and a weight that a thread reads serves X_ROWS rows.
override THREADS = 8u; // MANY: one subgroup
override FEW = 1u; // the form: one is 1, the other 0
override MANY = 0u;
override X_LOADS = 4u; // MANY: loads for four elements of X_ROWS rows
override LOAD_ROWS = 2u; // MANY: rows of which each load has four elements
const X_ROWS = X_LOADS * LOAD_ROWS;
const ROW4 = 4u;
override NORMS = 1u;
override GATES = 1u;
override ROPE = 1u;
override STATES = 1u;
override OPERANDS = 1u;
override FUNCTIONS = 1u;
override EPILOGUE_STEPS = 4u; // the most steps of these two kinds
override FACTORS = 1u; // 0: angles have no factors
override PLACED = 1u; // 1: ROPE or STATES is 1
override PARTS = 1u; // 0: there is never more than one part
override SEPARATE = 1u; // 1: it is a dispatch of its own; else TABLE is 1
override TABLE = 0u;
const PART = MATMUL_PARTS;
const PART_WORDS = PART_SIZE;
//!wgsl-only
//!include "graph.wgsl"
//!include "weight.wgsl"
//!include "weight/TYPE.wgsl"
//!for _ FUNCTIONS
//!include "epilogue_functions.wgsl"
//!end
//!for _ OPERANDS
//!include "binary.wgsl"
//!end
//!for _ ROPE
//!include "angle.wgsl"
//!end

// Four arguments of a part, from argument 4i on. In a dispatch of its own they are a vector for the compiler, too.
//!for _ SEPARATE
fn words_at(args: u32, part: u32, i: u32) -> vec4<u32> { return arguments[part / 4u + i]; }
//!end
//!for _ TABLE
fn words_at(args: u32, part: u32, i: u32) -> vec4<u32> {
    var words = vec4<u32>();
    for (var j = 0u; j < at_run_time(4u); j++) { words[j] = arg(args, part + 4u * i + j); }
    return words;
}
//!end

fn body(args: u32, v: u32, local: u32) {
    let k = arg(args, MATMUL_LENGTH);
    let chunks = (k + CHUNK - 1u) / CHUNK;
//!for _ FEW
    let t = v / arg(args, MATMUL_ROW_GROUPS);
//!end
//!for _ MANY
    let first_t = v / arg(args, MATMUL_ROW_GROUPS) * X_ROWS;
    let end_t = min(first_t + X_ROWS, arg(args, MATMUL_X_ROWS));
//!end
    for (var start = v % arg(args, MATMUL_ROW_GROUPS) * THREADS; start < arg(args, MATMUL_ROW4S);
         start += arg(args, MATMUL_ROW_GROUPS) * THREADS) {
        var part = PART; // the same for the whole workgroup
        var part_begin = 0u;
//!for _ PARTS
        for (var i = 1u; i < arg(args, MATMUL_PART_COUNT); i++) {
            if (start >= arg(args, part + PART_END)) {
                part_begin = arg(args, part + PART_END);
                part += PART_WORDS;
            }
        }
//!end
        let shape = words_at(args, part, PART_END / 4u); // PART_END, PART_ROWS, PART_WEIGHT, PART_GATE_WEIGHT
        let goes = words_at(args, part, PART_FORM / 4u); // PART_FORM, PART_DESTINATION, PART_OUT, PART_OUT_STRIDE
        // PART_MAGNITUDE, PART_FACTORS, PART_ROW4S, PART_STEP_COUNT
        let more = words_at(args, part, PART_MAGNITUDE / 4u);
//!for _ PLACED
        // PART_POSITION, PART_STATE_ROWS, PART_HEAD_SIZE, PART_LOG2_RATIO
        let state = words_at(args, part, PART_POSITION / 4u);
//!end
//!for _ FEW
        let row4 = start + local - part_begin;
        if (row4 >= more.z) { continue; }
//!end
//!for _ MANY
        let row4 = min(start + local - part_begin, more.z - 1u); // threads beyond the last help to read x
//!end
        let form = goes.x;
        let count = shape.y;
        // Two neighbouring rows, and two more `apart` rows behind them, which may be of another matrix.
        var first = row4 * 4u;
        var apart = 2u;
        var other_at = shape.z;
//!for _ GATES
        if (form == FORM_GATED) {
            first = row4 * 2u;
            apart = 0u;
            other_at = shape.w;
        }
//!end
//!for _ ROPE
        if (form == FORM_ROPE_HALF) {
            apart = state.z / 2u;
            first = row4 / (apart / 2u) * 2u * apart + row4 % (apart / 2u) * 2u;
        }
//!end
        let ends = select(4u, 2u, form == FORM_GATED); // results of the row4
        // the last row4 may have fewer rows
        var rows = min(vec4<u32>(0u, 1u, apart, apart + 1u) + first, vec4<u32>(count - 1u));
//!for _ FEW
        var sums = vec4<f32>();
//!for _ NORMS
        var squares = 0.0;
//!end
        for (var i = 0u; i < k; i += 4u) {
            var x = vec4<f32>();
            for (var j = 0u; j < at_run_time(4u); j++) {
                var value = load(arg(args, MATMUL_X) + t * k + i + j);
//!for _ NORMS
                if (arg(args, MATMUL_X_FORM) == X_NORMED) {
                    squares += value * value;
                    value *= load(arg(args, MATMUL_NORM_WEIGHT) + i + j) + arg_float(args, MATMUL_NORM_OFFSET);
                }
//!end
                x[j] = value;
            }
            for (var r = 0u; r < at_run_time(4u); r++) {
                let m = matrix(select(shape.z, other_at, r > 1u), count * chunks);
                sums[r] += dot(weight_vec4(fetch(m, rows[r] * chunks + i / CHUNK), i / 4u % (CHUNK / 4u)), x);
            }
        }
//!for _ NORMS
        if (arg(args, MATMUL_X_FORM) == X_NORMED) {
            sums *= inverseSqrt(squares / f32(k) + arg_float(args, MATMUL_NORM_EPSILON));
        }
//!end
//!end
//!for _ MANY
//!for g X_LOADS
        let row_#g = min(first_t + #gu * LOAD_ROWS + local / 4u, end_t - 1u);
        let x_at_#g = arg(args, MATMUL_X) + row_#g * k + min(local % 4u, k - 1u);
//!for t LOAD_ROWS
        var sums_#g_#t = vec4<f32>();
//!end
//!end
        for (var c = 0u; c < chunks; c++) {
//!for r ROW4
            let bits_#r = fetch(matrix(select(shape.z, other_at, #ru > 1u), count * chunks), rows[#r] * chunks + c);
//!end
            for (var j = 0u; j < at_run_time(CHUNK / 4u); j++) {
                let i = c * CHUNK + j * 4u;
                let there = i + local % 4u < k; // the last chunk may be longer than x
                let w = transpose(mat4x4<f32>(weight_vec4(bits_0, j), weight_vec4(bits_1, j), weight_vec4(bits_2, j),
                    weight_vec4(bits_3, j)));
//!for g X_LOADS
                let x_#g = select(0.0, load(x_at_#g + select(0u, i, there)), there);
//!for t LOAD_ROWS
//!for n ROW4
                sums_#g_#t += subgroupBroadcast(x_#g, #tu * 4u + #nu) * w[#n];
//!end
//!end
//!end
            }
        }
        for (var t = first_t; t < select(first_t, end_t, start + local - part_begin < more.z); t++) {
            var sums = vec4<f32>();
//!for g X_LOADS
//!for t LOAD_ROWS
            if (t == first_t + #gu * LOAD_ROWS + #tu) { sums = sums_#g_#t; }
//!end
//!end
//!end
//!for i EPILOGUE_STEPS
        if (#iu < more.w) {
            let step = words_at(args, part, PART_STEPS / 4u + #iu); // STEP_KIND, STEP_OPERAND, STEP_A, STEP_B
            for (var r = 0u; r < ends; r++) {
//!for _ FUNCTIONS
                if (step.x < STEP_BINARY) {
                    sums[r] = function_of(step.x, sums[r], bitcast<f32>(step.z), bitcast<f32>(step.w));
                }
//!end
//!for _ OPERANDS
                if (step.x >= STEP_BINARY) {
                    let other = vec4<f32>(load(step.y + rows[r] + step.z % 2u * t * goes.w));
                    sums[r] = combine(step.x - STEP_BINARY, select(vec4<f32>(sums[r]), other, step.w == 1u),
                        select(other, vec4<f32>(sums[r]), step.w == 1u)).x;
                }
//!end
            }
        }
//!end
//!for _ GATES
        if (form == FORM_GATED) { sums = vec4<f32>(sums.xy * sums.zw, sums.zw); }
//!end
//!for _ PLACED
//!for _ ALONE
        let position = load_word(state.x) + t;
//!end
//!for _ SLOTTED
        let position = load_word(state.x + t);
//!end
//!end
//!for _ ROPE
        for (var j = 0u; j < select(0u, 2u, form > FORM_GATED); j++) {
            let size = state.z;
            let i = select(first % size, first % size / 2u, form == FORM_ROPE_INTERLEAVED) + j;
            var angle = angles_of(f32(position), vec2<f32>(f32(i)), bitcast<f32>(state.w)).x;
//!for _ FACTORS
            if (more.y > 0u) { angle *= bitcast<f32>(load_word(more.y - 1u + i)); }
//!end
            angle = within_a_turn(vec2<f32>(angle)).x;
            let c = cos(angle) * bitcast<f32>(more.x);
            let s = sin(angle) * bitcast<f32>(more.x);
            let one = select(j, 2u * j, form == FORM_ROPE_INTERLEAVED);
            let two = select(j + 2u, 2u * j + 1u, form == FORM_ROPE_INTERLEAVED);
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
//!for _ ALONE
                let element = position * goes.w + row;
//!end
//!for _ SLOTTED
                let element = (t * state.y + position) * goes.w + row;
//!end
                if (goes.y > DESTINATION_ACTIVATIONS) {
                    let halves = goes.y == DESTINATION_STATE_F16;
                    if (position < state.y && (!halves || r % 2u == 0u)) {
                        store_state_word(goes.z + select(element, element / 2u, halves),
                            select(bitcast<u32>(sums[r]), pack2x16float(vec2<f32>(sums[r], sums[r + 1u])), halves));
                    }
                    continue;
                }
//!end
                store(goes.z + t * goes.w + row, sums[r]);
            }
        }
//!for _ MANY
        }
//!end
    }
}
