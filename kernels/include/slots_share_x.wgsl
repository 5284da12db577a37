// x for matmul_slots.wgsl on its way into workgroup memory, a segment of every row at a time.
//
// The rows are divided among the subgroups, TOGETHER of them to each set of PER_SET subgroups, so that these lines are
// there TOGETHER times and not ROWS times: the text of a kernel for eight rows would else be longer than what a
// multiprocessor keeps of a program, and every phase of a megakernel would wait for its instructions.
const ROW_SETS = (ROWS + TOGETHER - 1u) / TOGETHER;
const PER_SET = SUBGROUPS / ROW_SETS;
const SET_THREADS = PER_SET * SUBGROUP;
const SEGMENT_VEC4S = SEGMENT_CHUNKS * CHUNK_VEC4S;
var<workgroup> squares_of: array<f32, TOGETHER * SUBGROUPS>; // by row of a set, subgroup

struct squares {
//!for b TOGETHER
    of_#b: f32,
//!end
}

// Four elements of each row of a set, as they lie in memory, and of the norm's weight: those are in flight together.
struct x_bits {
    norm: vec4<u32>,
//!for b TOGETHER
    of_#b: vec4<u32>,
//!end
}

// Which elements of a segment a thread has as its i-th four. Eight threads have 32 elements, and each of their loads
// takes eight of those that lie side by side, a sector of memory: loads are atomic and pass the nearest cache by, so
// that four elements side by side would be fetched four times.
fn own_elements(i: u32) -> vec4<u32> { return vec4<u32>(0u, 8u, 16u, 24u) + i / 8u * 32u + i % 8u; }
fn are_there(segment: u32, own: vec4<u32>) -> vec4<bool> {
    let all = vec4<u32>(min(SEGMENT_CHUNKS * CHUNK, LENGTH / SHARES - segment * SEGMENT_CHUNKS * CHUNK));
    return own < all;
}
// Which elements of a row those are; instead of those that there are not, the first.
fn elements_of_row(segment: u32, i: u32) -> vec4<u32> {
    let own = own_elements(i);
    return select(vec4<u32>(), own + first_of_share() + segment * SEGMENT_CHUNKS * CHUNK, are_there(segment, own));
}

fn any_stale(bits: vec4<u32>) -> u32 {
    return is_stale(bits.x) | is_stale(bits.y) | is_stale(bits.z) | is_stale(bits.w);
}

// Waits until four elements are there.
fn await_vec4(place: vec4<u32>) {
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        if (!has_to_wait(any_stale(bits_of_vec4(place)) != 0u) || !keep_spinning(spins)) { break; }
    }
}

// The first row of a thread's set: beyond the last for threads that have none.
fn first_of_set(local: u32) -> u32 { return local / SET_THREADS * TOGETHER; }

// A thread's i-th four elements of each row of its set; rows beyond the last are the last again.
fn read_x(args: u32, segment: u32, i: u32, local: u32) -> x_bits {
    let place = elements_of_row(segment, i) + arg(args, MATMUL_X);
    var x: x_bits;
//!for b TOGETHER
    x.of_#b = bits_of_vec4(place + min(first_of_set(local) + #bu, ROWS - 1u) * LENGTH);
//!end
    return x;
}

// The same, with the norm's weights.
fn read_all(args: u32, segment: u32, i: u32, local: u32) -> x_bits {
    var x = read_x(args, segment, i, local);
    if (NORMS == 1u) { x.norm = bits_of_vec4(elements_of_row(segment, i) + arg(args, MATMUL_NORM_WEIGHT)); }
    return x;
}

// The same as read_x, when they are there, as what was read before may be.
fn await_x(args: u32, segment: u32, i: u32, before: x_bits, local: u32) -> x_bits {
    var x = before;
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        if (spins > 0u) { x = read_x(args, segment, i, local); }
        var missing = 0u;
        var late = 0u;
//!for b TOGETHER
        let stale_#b = any_stale(x.of_#b);
        missing |= stale_#b;
        late = select(late, min(first_of_set(local) + #bu, ROWS - 1u) * LENGTH, stale_#b != 0u);
//!end
        if (!has_to_wait(missing != 0u) || arg(args, MATMUL_X_COMPUTED) == 0u || !keep_spinning(spins)) { break; }
        // of one row only, for there are many who wait
        await_vec4(elements_of_row(segment, i) + arg(args, MATMUL_X) + late);
    }
    return x;
}

// Puts four elements of each row of a set into workgroup memory, multiplied by their norm's weight.
fn place_x(args: u32, segment: u32, i: u32, before: x_bits, own: ptr<function, squares>, local: u32) {
    let elements = own_elements(i);
    let there = are_there(segment, elements);
    var weight = vec4<f32>(1.0);
    if (NORMS == 1u) {
        weight = rounded(vec4<f32>(float_of(before.norm.x), float_of(before.norm.y), float_of(before.norm.z),
            float_of(before.norm.w)) + arg_float(args, MATMUL_NORM_OFFSET));
    }
    let x = await_x(args, segment, i, before, local);
//!for b TOGETHER
    let value_#b = select(vec4<f32>(), vec4<f32>(float_of(x.of_#b.x), float_of(x.of_#b.y), float_of(x.of_#b.z),
        float_of(x.of_#b.w)), there);
    if (NORMS == 1u) {
        (*own).of_#b = fma(value_#b.w, value_#b.w, fma(value_#b.z, value_#b.z, fma(value_#b.y, value_#b.y,
            fma(value_#b.x, value_#b.x, (*own).of_#b))));
    }
    let packed_#b = pack_vec4(value_#b * weight, i, local);
//!end
    // Behind all rows' arithmetic, which has no branches: so these are computed side by side.
//!for b TOGETHER
    put_row(first_of_set(local) + #bu, i, elements, packed_#b);
//!end
}

// The end of a loop that compilers shall not write out, for the reason above: they do not know where weights lie.
fn looped(args: u32, count: u32) -> u32 {
    return select(count, 0u, part_arg(args, PART, PART_WEIGHT) == 0xffffffffu);
}

// What a thread needs first of a segment, to be read before it is needed.
fn read_ahead(args: u32, segment: u32, local: u32) -> x_bits {
    return read_all(args, segment, local % SET_THREADS, local);
}

// Puts a segment into workgroup memory. The elements after those that are placed are on their way.
fn share_x(args: u32, segment: u32, ahead: x_bits, own: ptr<function, squares>, local: u32) {
    var next = ahead;
    for (var start = 0u; start < looped(args, SEGMENT_VEC4S); start += SET_THREADS) {
        let i = start + local % SET_THREADS;
        let x = next;
        if (start + SET_THREADS < SEGMENT_VEC4S) { next = read_all(args, segment, i + SET_THREADS, local); }
        place_x(args, segment, i, x, own, local);
    }
}

fn note_squares(own: squares, local: u32) {
//!for b TOGETHER
    let sum_#b = sum_over_subgroup(rounded(vec4<f32>(own.of_#b)).x, local);
    if (local % SUBGROUP == 0u) { squares_of[#bu * SUBGROUPS + local / SUBGROUP] = sum_#b; }
//!end
}

fn scale_of(args: u32, row: u32) -> f32 {
    let first = row % TOGETHER * SUBGROUPS + row / TOGETHER * PER_SET;
    var sum = squares_of[first];
    for (var i = 1u; i < PER_SET; i++) { sum += squares_of[first + i]; }
    return inverseSqrt(fma(sum, 1.0 / f32(LENGTH), arg_float(args, MATMUL_NORM_EPSILON)));
}

// All of x, where that is one segment.
fn share_all_x(args: u32, local: u32) {
    var own: squares;
    let ahead = read_ahead(args, 0u, local);
    workgroupBarrier();
    make_table(local);
    share_x(args, 0u, ahead, &own, local);
    if (NORMS == 1u) { note_squares(own, local); }
    workgroupBarrier();
}
