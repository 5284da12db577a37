// What the kernels for matrix products share: which rows of which matrices make a row4, and its epilogue.
//
// x [rows, k] is multiplied by up to three matrices [n, k], the product's parts. The unit of work is a row4: four rows
// of a part, or of a gated part two rows of each of its two matrices. A part's epilogue (biases, residuals, functions),
// rotation and destination are arguments: MATMUL_..., PART_... and STEP_... in kernels/args.txt.
const PART = MATMUL_PARTS;
// 0 leaves out of the kernel what it never needs.
override GATES = 1u; // gated parts
override ROPE = 1u; // rotated parts
override STATES = 1u; // parts that go to states
// rows that go to a state and to PART_ROW_COPY, where they can be read before the state has them
override ROWS_TOO = 0u;
override OPERANDS = 1u; // epilogue steps with two operands
override FUNCTIONS = 1u; // epilogue steps with one
const ANY_FUNCTION = 255u;
override FUNCTION = 255u; // the only function, if that is known
override WHOLE_ROW4S = 0u; // 1: every row4 has four rows, and there are none beyond the last
const PART_WORDS = PART_SIZE;
override HALVES = 0u; // 1: the result goes to activations as f16
override PARTS = 0u; // the number of parts, if it is known
const ANY_NUMBER = 255u;
override EPILOGUE_STEPS = 255u; // the most epilogue steps of a part, if it is known
// The form of the only part, if it goes to activations and has two epilogue steps at most, whose operands come second;
// and their kinds. A compiler then has no branches, and works on several row4s at the same time.
override ONLY_FORM = 255u;
override FIRST_KIND = 0u;
override SECOND_KIND = 0u;

// Argument i of a part; `part` is where its arguments begin. In a megakernel, arguments that never change are part of
// the kernel: there it is better if the compiler knows their indices.
fn part_arg(args: u32, part: u32, i: u32) -> u32 {
    if (PARTS == 0u) { return arg(args, part + i); }
    if (ONLY_FORM != ANY_NUMBER) {
        if (i == PART_FORM) { return ONLY_FORM; }
        if (i == PART_DESTINATION) { return DESTINATION_ACTIVATIONS; }
        if (i == PART_STEP_COUNT) { return EPILOGUE_STEPS; }
        if (i == PART_STEPS + STEP_KIND) { return FIRST_KIND; }
        if (i == PART_STEPS + STEP_SIZE + STEP_KIND) { return SECOND_KIND; }
        if (i == PART_STEPS + STEP_OPERAND_FIRST || i == PART_STEPS + STEP_SIZE + STEP_OPERAND_FIRST) { return 0u; }
    }
    var value = arg(args, PART + i);
    if (PARTS > 1u && part == PART + PART_WORDS) { value = arg(args, PART + PART_WORDS + i); }
    if (PARTS > 2u && part == PART + 2u * PART_WORDS) { value = arg(args, PART + 2u * PART_WORDS + i); }
    return value;
}

// The part that a row4 belongs to. It is the same for all threads of a workgroup: compilers see this, and load it once.
struct part_place {
    part: u32, // where its arguments begin
    begin: u32, // its first row4
}

fn part_of(args: u32, first: u32) -> part_place {
    var p = part_place(PART, 0u);
    if (PARTS == 1u) { return p; }
    if (PARTS == 0u) {
        for (var i = arg(args, MATMUL_PART_COUNT); i > 1u; i--) {
            if (first >= arg(args, p.part + PART_END)) {
                p = part_place(p.part + PART_WORDS, arg(args, p.part + PART_END));
            }
        }
        return p;
    }
    if (first >= arg(args, PART + PART_END)) { p = part_place(PART + PART_WORDS, arg(args, PART + PART_END)); }
    if (PARTS > 2u && first >= arg(args, PART + PART_WORDS + PART_END)) {
        p = part_place(PART + 2u * PART_WORDS, arg(args, PART + PART_WORDS + PART_END));
    }
    return p;
}

struct row4_rows {
    first: u32, // the row of the result that its first sum goes to
    rows: vec4<u32>, // rows of the matrices
    at: vec4<u32>, // the words at which the matrices begin
    chunks: u32, // of each matrix
}

// Row4 number `row4` of a part. Beyond the last it is the last again, whose result is not used.
fn row4_of(args: u32, part: u32, row4: u32, row_chunks: u32) -> row4_rows {
    var q: row4_rows;
    var i = row4;
    if (WHOLE_ROW4S == 0u) { i = min(row4, part_arg(args, part, PART_ROW4S) - 1u); }
    q.chunks = part_arg(args, part, PART_ROWS) * row_chunks;
    q.at = vec4<u32>(part_arg(args, part, PART_WEIGHT));
    q.first = i * 4u;
    q.rows = vec4<u32>(0u, 1u, 2u, 3u) + i * 4u;
    if (GATES == 1u && part_arg(args, part, PART_FORM) == FORM_GATED) {
        q.first = i * 2u;
        q.rows = vec4<u32>(0u, 1u, 0u, 1u) + i * 2u;
        q.at = vec4<u32>(vec2<u32>(part_arg(args, part, PART_WEIGHT)),
            vec2<u32>(part_arg(args, part, PART_GATE_WEIGHT)));
    }
    if (ROPE == 1u && part_arg(args, part, PART_FORM) == FORM_ROPE_HALF) {
        let half = part_arg(args, part, PART_HEAD_SIZE) / 2u;
        q.first = i / (half / 2u) * 2u * half + i % (half / 2u) * 2u;
        q.rows = vec4<u32>(0u, 1u, half, half + 1u) + q.first;
    }
    // The last row4 may have fewer rows: it reads the last one again.
    if (WHOLE_ROW4S == 0u) { q.rows = min(q.rows, vec4<u32>(part_arg(args, part, PART_ROWS) - 1u)); }
    return q;
}

// The operands of the first two epilogue steps, as they lie in memory, and the position: read long before, so that no
// thread waits for them at the end.
struct epilogue_operands {
    other: array<vec4<u32>, 2>,
    position: u32,
}

fn operand_at(args: u32, part: u32, i: u32, rows: vec4<u32>, t: u32) -> vec4<u32> {
    let s = PART_STEPS + STEP_SIZE * i;
    return rows + part_arg(args, part, s + STEP_OPERAND) +
        select(0u, t * part_arg(args, part, PART_OUT_STRIDE), part_arg(args, part, s + STEP_OPERAND_FLAGS) % 2u == 1u);
}

fn operand_of(args: u32, part: u32, i: u32, rows: vec4<u32>, t: u32) -> vec4<f32> {
    var at = operand_at(args, part, i, rows, t);
    if (COMPACT == 1u) {
        var values = vec4<f32>();
        for (var j = 0u; j < at_run_time(4u); j++) { values[j] = load(at[j]); }
        return values;
    }
    return floats_of(bits_of_vec4(at), at, part_arg(args, part, PART_STEPS + STEP_OPERAND_FLAGS + STEP_SIZE * i) > 1u);
}

fn fetch_operands(args: u32, part: u32, rows: vec4<u32>, t: u32) -> epilogue_operands {
    var r: epilogue_operands;
    if (COMPACT == 0u && OPERANDS == 1u && part_arg(args, part, PART_STEP_COUNT) > 0u &&
        part_arg(args, part, PART_STEPS + STEP_KIND) >= STEP_BINARY) {
        r.other[0] = bits_of_vec4(operand_at(args, part, 0u, rows, t));
    }
    if (COMPACT == 0u && OPERANDS == 1u && part_arg(args, part, PART_STEP_COUNT) > 1u &&
        part_arg(args, part, PART_STEPS + STEP_SIZE + STEP_KIND) >= STEP_BINARY) {
        r.other[1] = bits_of_vec4(operand_at(args, part, 1u, rows, t));
    }
    if (STATES + ROPE > 0u && (part_arg(args, part, PART_DESTINATION) > DESTINATION_ACTIVATIONS ||
        part_arg(args, part, PART_FORM) > FORM_GATED)) {
//!for _ ALONE
        r.position = load_word(part_arg(args, part, PART_POSITION)) + t;
//!end
//!for _ SLOTTED
        r.position = load_word(part_arg(args, part, PART_POSITION) + t);
//!end
    }
    return r;
}

// Step i of the epilogue. A gated part applies its function to the first two sums only; the compiler must not know that
// number, or it would make copies of all the functions.
fn epilogue_step(args: u32, part: u32, i: u32, sums: vec4<f32>, rows: vec4<u32>, t: u32,
    r: epilogue_operands) -> vec4<f32> {
    var y = sums;
    let s = PART_STEPS + STEP_SIZE * i;
    let kind = part_arg(args, part, s + STEP_KIND);
    if (FUNCTIONS == 1u && FUNCTION != ANY_FUNCTION && kind < STEP_BINARY) {
        let a = bitcast<f32>(part_arg(args, part, s + STEP_A));
        let b = bitcast<f32>(part_arg(args, part, s + STEP_B));
        y = vec4<f32>(function_of(FUNCTION, y.x, a, b), function_of(FUNCTION, y.y, a, b), y.zw);
        if (part_arg(args, part, PART_FORM) != FORM_GATED) {
            y = vec4<f32>(y.xy, function_of(FUNCTION, y.z, a, b), function_of(FUNCTION, y.w, a, b));
        }
    } else if (FUNCTIONS == 1u && kind < STEP_BINARY) {
        let count = select(4u, 2u, part_arg(args, part, PART_FORM) == FORM_GATED);
        for (var j = 0u; j < count; j++) {
            y[j] = function_of(kind, y[j], bitcast<f32>(part_arg(args, part, s + STEP_A)),
                bitcast<f32>(part_arg(args, part, s + STEP_B)));
        }
    } else if (OPERANDS == 1u) {
        var other = vec4<f32>();
        if (COMPACT == 1u || i > 1u) {
            other = operand_of(args, part, i, rows, t);
        } else {
            other = floats_of(select(r.other[1], r.other[0], i == 0u), operand_at(args, part, i, rows, t),
                part_arg(args, part, s + STEP_OPERAND_FLAGS) > 1u);
        }
        y = select(combine(kind - STEP_BINARY, y, other), combine(kind - STEP_BINARY, other, y),
            part_arg(args, part, s + STEP_OPERAND_FIRST) == 1u);
    }
    return y;
}

// All steps of the epilogue (biases, residuals, functions) for the sums of rows `rows` with row t of x.
fn epilogue(args: u32, part: u32, sums: vec4<f32>, rows: vec4<u32>, t: u32, r: epilogue_operands) -> vec4<f32> {
    var y = sums;
    if (OPERANDS + FUNCTIONS == 0u) { return y; }
    if (EPILOGUE_STEPS == ANY_NUMBER) {
        for (var i = 0u; i < part_arg(args, part, PART_STEP_COUNT); i++) {
            y = epilogue_step(args, part, i, y, rows, t, r);
        }
        return y;
    }
    if (EPILOGUE_STEPS > 0u && part_arg(args, part, PART_STEP_COUNT) > 0u) {
        y = epilogue_step(args, part, 0u, y, rows, t, r);
    }
    if (EPILOGUE_STEPS > 1u && part_arg(args, part, PART_STEP_COUNT) > 1u) {
        y = epilogue_step(args, part, 1u, y, rows, t, r);
    }
    if (EPILOGUE_STEPS > 2u && part_arg(args, part, PART_STEP_COUNT) > 2u) {
        y = epilogue_step(args, part, 2u, y, rows, t, r);
    }
    if (EPILOGUE_STEPS > 3u && part_arg(args, part, PART_STEP_COUNT) > 3u) {
        y = epilogue_step(args, part, 3u, y, rows, t, r);
    }
    return y;
}

// Rotates two pairs, (y.x, y.z) and (y.y, y.w), by angles with cosines c and sines s.
fn rotate(y: vec4<f32>, c: vec2<f32>, s: vec2<f32>) -> vec4<f32> {
    return fma(y.xyxy, vec4<f32>(c, s), rounded(y.zwzw * vec4<f32>(-s, c)));
}

// RoPE for the four sums, whose first is row `first` of the result; `at` is the position.
fn rotated(args: u32, part: u32, y: vec4<f32>, first: u32, at: u32) -> vec4<f32> {
    let size = part_arg(args, part, PART_HEAD_SIZE);
    // the first of the two pairs in its head
    let i = select(first % size, first % size / 2u, part_arg(args, part, PART_FORM) == FORM_ROPE_INTERLEAVED);
    let position = f32(at);
    // The sum i + 1 is made of integers: compilers may turn (a + 1) b into a b + b, which is rounded differently.
    let ratio = bitcast<f32>(part_arg(args, part, PART_LOG2_RATIO));
    var angles = angles_of(position, vec2<f32>(vec2<u32>(i, i + 1u)), ratio);
    if (part_arg(args, part, PART_FACTORS) > 0u) {
        let factors = part_arg(args, part, PART_FACTORS) - 1u + i;
        angles *= bitcast<vec2<f32>>(vec2<u32>(load_word(factors), load_word(factors + 1u)));
    }
    angles = within_a_turn(angles);
    let c = cos(angles) * bitcast<f32>(part_arg(args, part, PART_MAGNITUDE));
    let s = sin(angles) * bitcast<f32>(part_arg(args, part, PART_MAGNITUDE));
    if (part_arg(args, part, PART_FORM) == FORM_ROPE_INTERLEAVED) { return rotate(y.xzyw, c, s).xzyw; }
    return rotate(y, c, s);
}

// Writes two neighbouring elements of row t of the result; `place` is the row's position.
fn put_pair(args: u32, part: u32, row: u32, y: vec2<f32>, t: u32, place: u32) {
    if (row < part_arg(args, part, PART_ROWS)) {
        if (STATES == 0u || part_arg(args, part, PART_DESTINATION) == DESTINATION_ACTIVATIONS) {
            let to = part_arg(args, part, PART_OUT) + t * part_arg(args, part, PART_OUT_STRIDE) + row;
            if (HALVES == 1u) {
                store_word((to + part_arg(args, part, PART_OUT)) / 2u, halves_to_store(y));
                return;
            }
            store(to, y.x);
            if (row + 1u < part_arg(args, part, PART_ROWS)) { store(to + 1u, y.y); }
        } else {
            // The state's halves and those that are made of the copy come from the same floats: without the epoch bit.
            let even = rounded(vec4<f32>(y, y)).xy;
            if (ROWS_TOO == 1u && part_arg(args, part, PART_ROW_COPY) > 0u) {
                let at = part_arg(args, part, PART_ROW_COPY) + row;
                store(at, even.x);
                store(at + 1u, even.y);
            }
            if (place < part_arg(args, part, PART_STATE_ROWS)) {
                // Rows of a state have an even number of elements.
//!for _ ALONE
                let element = place * part_arg(args, part, PART_OUT_STRIDE) + row;
//!end
//!for _ SLOTTED
                let element = (t * part_arg(args, part, PART_STATE_ROWS) + place) *
                    part_arg(args, part, PART_OUT_STRIDE) + row;
//!end
                if (part_arg(args, part, PART_DESTINATION) == DESTINATION_STATE_F16) {
                    store_state_word(part_arg(args, part, PART_OUT) + element / 2u, pack2x16float(even));
                } else {
                    store_state_word(part_arg(args, part, PART_OUT) + element, bitcast<u32>(y.x));
                    store_state_word(part_arg(args, part, PART_OUT) + element + 1u, bitcast<u32>(y.y));
                }
            }
        }
    }
}

// What comes after the four sums: epilogue, gate or rotation, and the result's destination.
fn finish(args: u32, part: u32, first: u32, rows: vec4<u32>, sums: vec4<f32>, t: u32, r: epilogue_operands) {
    let form = part_arg(args, part, PART_FORM);
    var y = epilogue(args, part, rounded(sums), rows, t, r);
    if (COMPACT == 1u) {
        if (GATES == 1u && form == FORM_GATED) { y = vec4<f32>(y.xy * y.zw, y.zw); }
        if (ROPE == 1u && form > FORM_GATED) { y = rotated(args, part, y, first, r.position); }
        for (var j = 0u; j < select(2u, 1u, form == FORM_GATED); j++) {
            put_pair(args, part, first + j * select(2u, part_arg(args, part, PART_HEAD_SIZE) / 2u,
                form == FORM_ROPE_HALF), select(y.xy, y.zw, j == 1u), t, r.position);
        }
        return;
    }
    if (GATES == 1u && form == FORM_GATED) {
        put_pair(args, part, first, y.xy * y.zw, t, r.position);
    } else {
        if (ROPE == 1u && form > FORM_GATED) { y = rotated(args, part, y, first, r.position); }
        put_pair(args, part, first, y.xy, t, r.position);
        put_pair(args, part, first + select(2u, part_arg(args, part, PART_HEAD_SIZE) / 2u, ROPE == 1u &&
            form == FORM_ROPE_HALF), y.zw, t, r.position);
    }
}
