// out[i] = f(x, y, z), element by element. Each operand is read through strides over the dimensions of the result, so
// that it may be transposed, broadcast or cut; it is floats, integers (words) or a state of floats. The function is
// computed with floats or with integers: map_kind of src/graph/graph.h.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "unary.wgsl"
//!include "angle.wgsl"

// The place that element i of the result reads of an operand.
fn place_of(args: u32, operand: u32, i: u32) -> u32 {
    var rest = i;
    var at = arg(args, operand + MAP_OPERAND_AT);
    for (var d = 6u; d > 0u; d--) {
        at += rest % arg(args, MAP_OP_DIMS - 1u + d) * arg(args, operand + MAP_OPERAND_STRIDES - 1u + d);
        rest /= arg(args, MAP_OP_DIMS - 1u + d);
    }
    return at;
}

fn is_in_box(args: u32, i: u32) -> bool {
    var rest = i;
    var inside = true;
    for (var d = 6u; d > 0u; d--) {
        let at = rest % arg(args, MAP_OP_DIMS - 1u + d);
        inside = inside && at >= arg(args, MAP_OP_FIRST - 1u + d) && at < arg(args, MAP_OP_END - 1u + d);
        rest /= arg(args, MAP_OP_DIMS - 1u + d);
    }
    return inside;
}

// What is there, as the bits of a float or of an integer: whichever the function is computed with.
fn bits_of(args: u32, operand: u32, at: u32) -> u32 {
    let form = arg(args, operand + MAP_OPERAND_FORM);
    var bits = 0u;
    if (form == MAP_FORM_WORDS) {
        bits = load_word(at);
    } else if (form == MAP_FORM_STATE) {
        bits = state_word(at);
    } else {
        bits = bitcast<u32>(polled(at, form == MAP_FORM_COMPUTED));
    }
    if (arg(args, MAP_OP_INTEGERS) == 1u) {
        if (form != MAP_FORM_WORDS) { bits = u32(i32(bitcast<f32>(bits))); }
    } else if (form == MAP_FORM_WORDS) {
        bits = bitcast<u32>(f32(i32(bits)));
    }
    return bits;
}

fn operand_of(args: u32, operand: u32, i: u32) -> u32 { return bits_of(args, operand, place_of(args, operand, i)); }

// WGSL's pow is for positive numbers only.
fn power(x: f32, y: f32) -> f32 {
    if (y == 0.0) { return 1.0; }
    if (x == 0.0) { return select(3.4e38, 0.0, y > 0.0); }
    let size = pow(abs(x), y);
    return select(size, -size, x < 0.0 && abs(y) % 2.0 == 1.0);
}

// Within 2e-7, by a polynomial.
fn error_function(x: f32) -> f32 {
    let t = 1.0 / fma(0.3275911, abs(x), 1.0);
    let p = fma(fma(fma(fma(1.061405429, t, -1.453152027), t, 1.421413741), t, -0.284496736), t, 0.254829592);
    return sign(x) * fma(-p * t, exp(-x * x), 1.0);
}

fn of_floats(args: u32, x: f32, y: f32) -> f32 {
    switch (arg(args, MAP_OP_KIND)) {
        case MAP_RSQRT: { return inverseSqrt(x); }
        case MAP_ERF: { return error_function(x); }
        case MAP_FLOOR: { return floor(x); }
        case MAP_CEIL: { return ceil(x); }
        case MAP_ROUND: { return round(x); }
        case MAP_SIGN: { return sign(x); }
        case MAP_NOT: { return select(0.0, 1.0, x == 0.0); }
        case MAP_ADD: { return x + y; }
        case MAP_SUB: { return x - y; }
        case MAP_MUL: { return x * y; }
        case MAP_DIV: { return x / y; }
        case MAP_REMAINDER: { return x - y * floor(x / y); }
        case MAP_MAX: { return max(x, y); }
        case MAP_MIN: { return min(x, y); }
        case MAP_POW: { return power(x, y); }
        case MAP_EQ: { return select(0.0, 1.0, x == y); }
        case MAP_NE: { return select(0.0, 1.0, x != y); }
        case MAP_LT: { return select(0.0, 1.0, x < y); }
        case MAP_LE: { return select(0.0, 1.0, x <= y); }
        case MAP_AND: { return select(0.0, 1.0, x != 0.0 && y != 0.0); }
        case MAP_OR: { return select(0.0, 1.0, x != 0.0 || y != 0.0); }
        case MAP_XOR: { return select(0.0, 1.0, (x != 0.0) != (y != 0.0)); }
        default: {
            let kind = arg(args, MAP_OP_FUNCTION);
            let periodic = kind == UNARY_SIN || kind == UNARY_COS;
            return function_of(kind, select(x, within_a_turn(vec2<f32>(x)).x, periodic), arg_float(args, MAP_OP_A),
                arg_float(args, MAP_OP_B));
        }
    }
}

// Rounded down.
fn quotient(x: i32, y: i32) -> i32 {
    if (y == 0) { return 0; }
    return x / y - select(0, 1, x % y != 0 && (x < 0) != (y < 0));
}

fn of_integers(args: u32, x: i32, y: i32) -> i32 {
    switch (arg(args, MAP_OP_KIND)) {
        case MAP_SIGN: { return sign(x); }
        case MAP_NOT: { return select(0, 1, x == 0); }
        case MAP_ADD: { return x + y; }
        case MAP_SUB: { return x - y; }
        case MAP_MUL: { return x * y; }
        case MAP_DIV: { return quotient(x, y); }
        case MAP_REMAINDER: { return x - y * quotient(x, y); }
        case MAP_MAX: { return max(x, y); }
        case MAP_MIN: { return min(x, y); }
        case MAP_EQ: { return select(0, 1, x == y); }
        case MAP_NE: { return select(0, 1, x != y); }
        case MAP_LT: { return select(0, 1, x < y); }
        case MAP_LE: { return select(0, 1, x <= y); }
        case MAP_AND: { return x & y; }
        case MAP_OR: { return x | y; }
        case MAP_XOR: { return x ^ y; }
        default: {
            switch (arg(args, MAP_OP_FUNCTION)) {
                case UNARY_NEG: { return -x; }
                case UNARY_ABS: { return abs(x); }
                case UNARY_SQUARE: { return x * x; }
                default: { return x; }
            }
        }
    }
}

// The bits of the result, still of the type that it is computed with.
fn result_of(args: u32, i: u32) -> u32 {
    let integers = arg(args, MAP_OP_INTEGERS) == 1u;
    switch (arg(args, MAP_OP_KIND)) {
        case MAP_WHERE: {
            let x = operand_of(args, MAP_OP_X, i);
            if (select(x & 0x7fffffffu, x, integers) != 0u) { return operand_of(args, MAP_OP_Y, i); }
            return operand_of(args, MAP_OP_Z, i);
        }
        case MAP_TAKE: {
            let bits = operand_of(args, MAP_OP_Y, i);
            var wanted = bitcast<i32>(bits);
            if (!integers) { wanted = i32(bitcast<f32>(bits)); }
            let count = i32(arg(args, MAP_OP_TAKE_COUNT));
            wanted = clamp(select(wanted, wanted + count, wanted < 0), 0, count - 1);
            return bits_of(args, MAP_OP_X, place_of(args, MAP_OP_X, i) + u32(wanted) * arg(args, MAP_OP_TAKE_STRIDE));
        }
        case MAP_PLACE: {
            if (is_in_box(args, i)) { return operand_of(args, MAP_OP_X, i); }
            if (arg(args, MAP_OP_Y + MAP_OPERAND_FORM) != MAP_FORM_NONE) { return operand_of(args, MAP_OP_Y, i); }
            if (integers) { return u32(i32(arg_float(args, MAP_OP_A))); }
            return arg(args, MAP_OP_A);
        }
        default: {
            let x = operand_of(args, MAP_OP_X, i);
            var y = 0u;
            if (arg(args, MAP_OP_Y + MAP_OPERAND_FORM) != MAP_FORM_NONE) { y = operand_of(args, MAP_OP_Y, i); }
            if (integers) { return bitcast<u32>(of_integers(args, bitcast<i32>(x), bitcast<i32>(y))); }
            return bitcast<u32>(of_floats(args, bitcast<f32>(x), bitcast<f32>(y)));
        }
    }
}

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, MAP_OP_COUNT)) { return; }
    let bits = result_of(args, i);
    let integers = arg(args, MAP_OP_INTEGERS) == 1u;
    if (arg(args, MAP_OP_WORDS) == 1u) {
        var word = bits;
        if (!integers) { word = u32(i32(bitcast<f32>(bits))); }
        store_word(arg(args, ARG_OUT) + i, word);
    } else {
        var value = bitcast<f32>(bits);
        if (integers) { value = f32(i32(bits)); }
        store(arg(args, ARG_OUT) + i, value);
    }
}
