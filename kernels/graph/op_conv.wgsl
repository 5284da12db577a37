// A causal convolution over the rows of x, each column with a short kernel of its own, then silu. The rows before the
// first are in a state, which gets the last ones; at position 0 there are none before. A thread has a column, of all
// rows and in every run: no other reads what it writes into the state.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"

// Column c of a row, counted from the first one of the state; `none`: those are zeros.
fn row_of(args: u32, c: u32, row: u32, none: bool) -> f32 {
    let before = arg(args, CONV_WIDTH) - 1u;
    let columns = arg(args, CONV_COLUMNS);
    if (row >= before) {
        return polled(arg(args, ARG_X) + (row - before) * columns + c, arg(args, CONV_X_COMPUTED) == 1u);
    }
    if (none) { return 0.0; }
    return bitcast<f32>(state_word(arg(args, CONV_STATE) + row * columns + c));
}

//!for _ SLOTTED
// A column of a row that is a text of its own: the state has the rows before it of each text.
fn slotted_column(args: u32, text: u32, c: u32, columns: u32, width: u32) {
    let none = load_word(arg(args, CONV_POSITION) + text) == 0u;
    let state = arg(args, CONV_STATE) + text * (width - 1u) * columns + c;
    let x = polled(arg(args, ARG_X) + text * columns + c, arg(args, CONV_X_COMPUTED) == 1u);
    var sum = 0.0;
    for (var i = 0u; i + 1u < width; i++) {
        let weight = load(arg(args, CONV_WEIGHT) + c * width + i);
        if (!none) { sum = fma(weight, bitcast<f32>(state_word(state + i * columns)), sum); }
    }
    sum = fma(load(arg(args, CONV_WEIGHT) + c * width + width - 1u), x, sum);
    store(arg(args, ARG_OUT) + text * columns + c, sum / (1.0 + exp(-sum)));
    for (var i = 0u; i + 1u < width; i++) {
        var kept = bitcast<u32>(x);
        if (i + 2u < width) { kept = select(state_word(state + (i + 1u) * columns), 0u, none); }
        store_state_word(state + i * columns, kept);
    }
}
//!end

fn body(args: u32, v: u32, local: u32) {
    let columns = arg(args, CONV_COLUMNS);
    let width = at_run_time(arg(args, CONV_WIDTH));
//!for _ SLOTTED
    let parts = (columns + THREADS - 1u) / THREADS;
    let text = v / parts;
    let place = v % parts * THREADS + local;
    if (place >= columns) { return; }
    slotted_column(args, text, place, columns, width);
//!end
//!for _ ALONE
    let c = v * THREADS + local;
    if (c >= columns) { return; }
    let none = load_word(arg(args, CONV_POSITION)) == 0u;
    var count = arg(args, CONV_ROWS);
    if (arg(args, CONV_LAST) > 0u) { count = min(count, load_word(arg(args, CONV_LAST) - 1u) + 1u); }
    for (var row = 0u; row < at_run_time(arg(args, CONV_ROWS)); row++) {
        var sum = 0.0;
        for (var i = 0u; i < width; i++) {
            sum = fma(load(arg(args, CONV_WEIGHT) + c * width + i), row_of(args, c, row + i, none), sum);
        }
        store(arg(args, ARG_OUT) + row * columns + c, sum / (1.0 + exp(-sum)));
    }
    for (var i = 0u; i + 1u < width; i++) {
        let kept = row_of(args, c, count + i, none);
        store_state_word(arg(args, CONV_STATE) + i * columns + c, bitcast<u32>(kept));
    }
//!end
}
