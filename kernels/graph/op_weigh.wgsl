// Elements of each row by their places, as routes: the places as floats, then the elements, scaled, and divided by
// their sum where they are to add up to one.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "floats.wgsl"

fn element_at(args: u32, row: u32, slot: u32) -> f32 {
    let length = arg(args, WEIGH_ROW_LENGTH);
    let place = min(load_word(arg(args, WEIGH_PLACES) + row * arg(args, WEIGH_SLOTS) + slot), length - 1u);
    return load(arg(args, ARG_X) + row * length + place);
}

fn body(args: u32, v: u32, local: u32) {
    let i = v * THREADS + local;
    if (i >= arg(args, WEIGH_COUNT)) { return; }
    let slots = arg(args, WEIGH_SLOTS);
    let row = i / slots;
    let slot = i % slots;
    var weight = element_at(args, row, slot) * arg_float(args, WEIGH_SCALE);
    if (arg(args, WEIGH_NORMED) == 1u) {
        var sum = 1e-20;
        for (var k = 0u; k < at_run_time(slots); k++) { sum += element_at(args, row, k); }
        weight *= inverse_of(sum);
    }
    store(arg(args, ARG_OUT) + 2u * row * slots + slot, f32(load_word(arg(args, WEIGH_PLACES) + i)));
    store(arg(args, ARG_OUT) + (2u * row + 1u) * slots + slot, weight);
}
