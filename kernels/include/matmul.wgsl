// What matrix products share: which rows of which matrices make a row4, and what becomes of its four sums.
//
// x [t, k] is multiplied by up to three matrices [n, k], its parts. The unit of work is a row4: four rows of a part,
// or two rows each of the two matrices of a gated part.
// Arguments: 0 virtual workgroups, 1 k, 2 workgroups for each row of x, 3 row4s, 4 x, 5 x is: 0 as it is,
// 1 normed, 2 the parts of split attention; 6 the norm's weight, or the size of a head, 7 its epsilon, or the splits,
// 8 what is added to the weight, 9 parts, 10 rows of x, 11 a quarter of CHUNK and 12 four: for loops that compilers shall not
// write out; 13, 14: matmul_row.wgsl; 15 x is made in this run. Of part p, from 16 + 32 p on:
//    0 row4s up to its end    1 rows n    2 word its weight begins at
//    3 the gate's other weight; for a row that goes to a state of f16: where it also goes, 0: nowhere
//    4 form: 0 plain, 1 gated (f(first) * second), 2 rotated with pairs half a head apart, 3 with pairs side by side
//    5 goes to: 0 activations, 1 a state of f32, 2 of f16    6 there    7 elements from row to row there
//    8 position    9 rows of the state    10 size of a head    11 log2 of an angle as a share of the one before    12 magnitude
//   13 divisors of the angles (0: none, else one more)    14 row4s it really has    15 steps epilogue; of a gated part the first sums' function
//   16 + 4 i: step i: kind (unary; from 256 on binary), operand, a, b; for a binary step a says that each row of x has
//   an operand of its own (1), made in this run (2), b that the operand is the first of the two.
const PART = MATMUL_PARTS;
// What a kernel is never asked for can be left out of it: 0.
override GATES = 1u;    // gated parts
override ROPE = 1u;    // rotated ones
override STATES = 1u;   // parts that go to states
override ROWS_TOO = 0u; // rows that go to a state and elsewhere, too: nobody need wait for the state to have them
override OPERANDS = 1u; // steps epilogue that have two operands
override FUNCTIONS = 1u; // and those that have one
const ANY_FUNCTION = 255u;
override FUNCTION = 255u; // the only one, if it is known
override WHOLE_ROW4S = 0u; // 1: no row4 is beyond the last, and none has fewer rows
const PART_WORDS = PART_SIZE;
override PARTS = 0u; // how many, if it is known
const ANY_NUMBER = 255u;
override EPILOGUE_STEPS = 255u; // the most steps epilogue that a part has, if it is known

// Argument i of a part. Where arguments that never change are part of the kernel (megakernel.wgsl), it is better to know their
// numbers beforehand.
fn part_arg(args: u32, part: u32, i: u32) -> u32 {
    if (PARTS == 0u) { return arg(args, part + i); }
    var value = arg(args, PART + i);
    if (PARTS > 1u && part == PART + PART_WORDS) { value = arg(args, PART + PART_WORDS + i); }
    if (PARTS > 2u && part == PART + 2u * PART_WORDS) { value = arg(args, PART + 2u * PART_WORDS + i); }
    return value;
}

// The part that row4 number `first` belongs to: where its arguments prefetch, and its own first row4. It is the same for a
// whole workgroup, which compilers can tell, and make cheap.
struct part_place {
    part: u32,
    prefetch: u32,
}

fn part_of(args: u32, first: u32) -> part_place {
    var p = part_place(PART, 0u);
    if (PARTS == 1u) { return p; }
    if (PARTS == 0u) {
        for (var i = arg(args, MATMUL_PART_COUNT); i > 1u; i--) {
            if (first >= arg(args, p.part)) { p = part_place(p.part + PART_WORDS, arg(args, p.part)); }
        }
        return p;
    }
    if (first >= arg(args, PART)) { p = part_place(PART + PART_WORDS, arg(args, PART)); }
    if (PARTS > 2u && first >= arg(args, PART + PART_WORDS)) { p = part_place(PART + 2u * PART_WORDS, arg(args, PART + PART_WORDS)); }
    return p;
}

struct row4_rows {
    first: u32,        // of its rows, in the order in which they go out
    rows: vec4<u32>,   // in their matrices
    at: vec4<u32>,     // where those prefetch
    chunks: u32,       // in each
}

// Quad i of a part. Beyond the last it is the last again, which nobody needs.
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
        q.at = vec4<u32>(vec2<u32>(part_arg(args, part, PART_WEIGHT)), vec2<u32>(part_arg(args, part, PART_GATE_WEIGHT)));
    }
    if (ROPE == 1u && part_arg(args, part, PART_FORM) == FORM_ROPE_HALF) {
        let half = part_arg(args, part, PART_HEAD_SIZE) / 2u;
        q.first = i / (half / 2u) * 2u * half + i % (half / 2u) * 2u;
        q.rows = vec4<u32>(0u, 1u, half, half + 1u) + q.first;
    }
    // The last row4 may be short: it reads a row twice.
    if (WHOLE_ROW4S == 0u) { q.rows = min(q.rows, vec4<u32>(part_arg(args, part, PART_ROWS) - 1u)); }
    return q;
}

// The values that the first two steps after a row4's sums need, as they lie there, and the position: asked for long before, so
// that nobody waits for them at the end.
struct ready {
    other: array<vec4<u32>, 2>,
    position: u32,
}

fn operand_at(args: u32, part: u32, i: u32, rows: vec4<u32>, t: u32) -> vec4<u32> {
    let s = PART_STEPS + STEP_SIZE * i;
    return rows + part_arg(args, part, s + STEP_OPERAND) + select(0u, t * part_arg(args, part, PART_OUT_STRIDE), part_arg(args, part, s + STEP_OPERAND_FLAGS) % 2u == 1u);
}

fn operand_of(args: u32, part: u32, i: u32, rows: vec4<u32>, t: u32) -> vec4<f32> {
    var at = operand_at(args, part, i, rows, t);
    if (COMPACT == 1u) {
        var values = vec4<f32>();
        for (var j = 0u; j < at_run_time(4u); j++) { values[j] = load(at[j]); }
        return values;
    }
    return floats_of(bits_of_four(at), at, part_arg(args, part, PART_STEPS + STEP_OPERAND_FLAGS + STEP_SIZE * i) > 1u);
}

fn get_ready(args: u32, part: u32, rows: vec4<u32>, t: u32) -> ready {
    var r: ready;
    if (COMPACT == 0u && OPERANDS == 1u && part_arg(args, part, PART_STEP_COUNT) > 0u && part_arg(args, part, PART_STEPS + STEP_KIND) >= STEP_BINARY) { r.other[0] = bits_of_four(operand_at(args, part, 0u, rows, t)); }
    if (COMPACT == 0u && OPERANDS == 1u && part_arg(args, part, PART_STEP_COUNT) > 1u && part_arg(args, part, PART_STEPS + STEP_SIZE + STEP_KIND) >= STEP_BINARY) { r.other[1] = bits_of_four(operand_at(args, part, 1u, rows, t)); }
    if (STATES + ROPE > 0u && (part_arg(args, part, PART_DESTINATION) > DESTINATION_ACTIVATIONS || part_arg(args, part, PART_FORM) > FORM_GATED)) { r.position = load_word(part_arg(args, part, PART_POSITION)) + t; }
    return r;
}

// Step i of what comes after a row4's sums. Of a gated part only the first two are meant; how many that is must not be
// known beforehand: compilers would make copies of all the functions.
fn epilogue_step(args: u32, part: u32, i: u32, sums: vec4<f32>, rows: vec4<u32>, t: u32, r: ready) -> vec4<f32> {
    var y = sums;
    let s = PART_STEPS + STEP_SIZE * i;
    let kind = part_arg(args, part, s + STEP_KIND);
    if (FUNCTIONS == 1u && FUNCTION != ANY_FUNCTION && kind < STEP_BINARY) {
        let a = bitcast<f32>(part_arg(args, part, s + STEP_A));
        let b = bitcast<f32>(part_arg(args, part, s + STEP_B));
        y = vec4<f32>(function_of(FUNCTION, y.x, a, b), function_of(FUNCTION, y.y, a, b), y.zw);
        if (part_arg(args, part, PART_FORM) != FORM_GATED) { y = vec4<f32>(y.xy, function_of(FUNCTION, y.z, a, b), function_of(FUNCTION, y.w, a, b)); }
    } else if (FUNCTIONS == 1u && kind < STEP_BINARY) {
        let count = select(4u, 2u, part_arg(args, part, PART_FORM) == FORM_GATED);
        for (var j = 0u; j < count; j++) { y[j] = function_of(kind, y[j], bitcast<f32>(part_arg(args, part, s + STEP_A)), bitcast<f32>(part_arg(args, part, s + STEP_B))); }
    } else if (OPERANDS == 1u) {
        var other = vec4<f32>();
        if (COMPACT == 1u || i > 1u) {
            other = operand_of(args, part, i, rows, t);
        } else {
            other = floats_of(select(r.other[1], r.other[0], i == 0u), operand_at(args, part, i, rows, t), part_arg(args, part, s + STEP_OPERAND_FLAGS) > 1u);
        }
        y = select(combine(kind - STEP_BINARY, y, other), combine(kind - STEP_BINARY, other, y), part_arg(args, part, s + STEP_OPERAND_FIRST) == 1u);
    }
    return y;
}

// Biases, residuals, functions: what comes after the sums of rows `rows` of row t of x.
fn epilogue(args: u32, part: u32, sums: vec4<f32>, rows: vec4<u32>, t: u32, r: ready) -> vec4<f32> {
    var y = sums;
    if (OPERANDS + FUNCTIONS == 0u) { return y; }
    if (EPILOGUE_STEPS == ANY_NUMBER) {
        for (var i = 0u; i < part_arg(args, part, PART_STEP_COUNT); i++) { y = epilogue_step(args, part, i, y, rows, t, r); }
        return y;
    }
    if (EPILOGUE_STEPS > 0u && part_arg(args, part, PART_STEP_COUNT) > 0u) { y = epilogue_step(args, part, 0u, y, rows, t, r); }
    if (EPILOGUE_STEPS > 1u && part_arg(args, part, PART_STEP_COUNT) > 1u) { y = epilogue_step(args, part, 1u, y, rows, t, r); }
    if (EPILOGUE_STEPS > 2u && part_arg(args, part, PART_STEP_COUNT) > 2u) { y = epilogue_step(args, part, 2u, y, rows, t, r); }
    if (EPILOGUE_STEPS > 3u && part_arg(args, part, PART_STEP_COUNT) > 3u) { y = epilogue_step(args, part, 3u, y, rows, t, r); }
    return y;
}

// Two pairs: firsts, and seconds.
fn rotate(y: vec4<f32>, c: vec2<f32>, s: vec2<f32>) -> vec4<f32> { return fma(y.xyxy, vec4<f32>(c, s), rounded(y.zwzw * vec4<f32>(-s, c))); }

fn rotated(args: u32, part: u32, y: vec4<f32>, first: u32, at: u32) -> vec4<f32> {
    let size = part_arg(args, part, PART_HEAD_SIZE);
    let i = select(first % size, first % size / 2u, part_arg(args, part, PART_FORM) == FORM_ROPE_INTERLEAVED); // of the first of two pairs
    let position = f32(at);
    // No sum that is multiplied: compilers may turn (a + 1) b into a b + b, which is rounded elsewhere.
    var angles = position * exp2(vec2<f32>(vec2<u32>(i, i + 1u)) * bitcast<f32>(part_arg(args, part, PART_LOG2_RATIO)));
    if (part_arg(args, part, PART_DIVISORS) > 0u) { angles /= vec2<f32>(load(part_arg(args, part, PART_DIVISORS) - 1u + i), load(part_arg(args, part, PART_DIVISORS) + i)); }
    let c = cos(angles) * bitcast<f32>(part_arg(args, part, PART_MAGNITUDE));
    let s = sin(angles) * bitcast<f32>(part_arg(args, part, PART_MAGNITUDE));
    if (part_arg(args, part, PART_FORM) == FORM_ROPE_INTERLEAVED) { return rotate(y.xzyw, c, s).xzyw; }
    return rotate(y, c, s);
}

fn put_pair(args: u32, part: u32, row: u32, y: vec2<f32>, t: u32, place: u32) {
    if (row < part_arg(args, part, PART_ROWS)) {
        if (STATES == 0u || part_arg(args, part, PART_DESTINATION) == DESTINATION_ACTIVATIONS) {
            let to = part_arg(args, part, PART_OUT) + t * part_arg(args, part, PART_OUT_STRIDE) + row;
            store(to, y.x);
            if (row + 1u < part_arg(args, part, PART_ROWS)) { store(to + 1u, y.y); }
        } else {
            // The state's halves and those that are made of the row elsewhere are made of the same floats: a mark's bit is in neither.
            let even = rounded(vec4<f32>(y, y)).xy;
            if (ROWS_TOO == 1u && part_arg(args, part, PART_ROW_COPY) > 0u) {
                let at = part_arg(args, part, PART_ROW_COPY) + row;
                store(at, even.x);
                store(at + 1u, even.y);
            }
            if (place < part_arg(args, part, PART_STATE_ROWS)) {
                // Rows of a state have an even number of elements.
                let element = place * part_arg(args, part, PART_OUT_STRIDE) + row;
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

fn finish(args: u32, part: u32, first: u32, rows: vec4<u32>, sums: vec4<f32>, t: u32, r: ready) {
    let form = part_arg(args, part, PART_FORM);
    var y = epilogue(args, part, rounded(sums), rows, t, r);
    if (COMPACT == 1u) {
        if (GATES == 1u && form == FORM_GATED) { y = vec4<f32>(y.xy * y.zw, y.zw); }
        if (ROPE == 1u && form > FORM_GATED) { y = rotated(args, part, y, first, r.position); }
        for (var j = 0u; j < select(2u, 1u, form == FORM_GATED); j++) {
            put_pair(args, part, first + j * select(2u, part_arg(args, part, PART_HEAD_SIZE) / 2u, form == FORM_ROPE_HALF), select(y.xy, y.zw, j == 1u), t, r.position);
        }
        return;
    }
    if (GATES == 1u && form == FORM_GATED) {
        put_pair(args, part, first, y.xy * y.zw, t, r.position);
    } else {
        if (ROPE == 1u && form > FORM_GATED) { y = rotated(args, part, y, first, r.position); }
        put_pair(args, part, first, y.xy, t, r.position);
        put_pair(args, part, first + select(2u, part_arg(args, part, PART_HEAD_SIZE) / 2u, ROPE == 1u && form == FORM_ROPE_HALF), y.zw, t, r.position);
    }
}
