// Sampling for rows that are texts of their own: where the things of a row are, what steers its choice, and what comes
// after it. The row is the highest byte of `args` in all functions but `body`: so compilers see that all threads of a
// workgroup have the same.
fn args_of_row(args: u32, row: u32) -> u32 { return args | (row << 24u); }
const IDLE = 0xffffffffu;
const ONLY_SET = 1u;
const ADDED = 2u;

fn row_arg(args_and_row: u32, i: u32) -> u32 {
    let args = args_and_row & 0xffffffu;
    let sampled_row = args_and_row >> 24u;
    switch (i) {
        case ARG_OUT, SAMPLE_POSITION: { return arg(args, i) + sampled_row; }
        case SAMPLE_LOGITS: { return arg(args, i) + sampled_row * arg(args, SAMPLE_VOCAB); }
        case SAMPLE_SETTINGS: { return arg(args, i) + sampled_row * SETTINGS; }
        case SAMPLE_HISTORY: { return arg(args, i) + sampled_row * arg(args, SAMPLE_HISTORY_TOK); }
        case SAMPLE_KEYS, SAMPLE_SLICES: { return arg(args, i) + sampled_row * arg(args, SAMPLE_ROW_SCRATCH); }
        case SAMPLE_CONTROL: { return arg(args, i) + sampled_row * CONTROL_SIZE; }
        default: { return arg(args, i); }
    }
}

fn is_idle(args: u32) -> bool { return load_word(row_arg(args, SAMPLE_POSITION)) >= row_arg(args, SAMPLE_CAPACITY); }

// The bits of the logit of token `id`, as the row's caller wants it.
fn steered(args: u32, id: u32, bits: u32) -> u32 {
    let how = load_word(row_arg(args, SAMPLE_CONTROL) + CONTROL_STEERED);
    if (row_arg(args, SAMPLE_STEERING) == 0u || how == 0u) { return bits; }
    let flags = (row_arg(args, SAMPLE_VOCAB) + 31u) / 32u;
    let at = row_arg(args, SAMPLE_STEERING) - 1u + (args >> 24u) * (flags + row_arg(args, SAMPLE_VOCAB));
    if ((how & ONLY_SET) > 0u && (load_word(at + id / 32u) >> (id % 32u)) % 2u == 0u) { return 0xff800000u; }
    if ((how & ADDED) == 0u) { return bits; }
    return bitcast<u32>(bitcast<f32>(bits) + bitcast<f32>(load_word(at + flags + id)));
}

// By one thread, after the row's token is written: on to the next position, or idle.
fn advance(args: u32) {
    let control = row_arg(args, SAMPLE_CONTROL);
    let position = load_word(row_arg(args, SAMPLE_POSITION)) + 1u;
    let token = load_word(row_arg(args, SAMPLE_HISTORY) + position % max(row_arg(args, SAMPLE_HISTORY_TOK), 1u));
    let left = load_word(control + CONTROL_LEFT) - 1u;
    var ends = left == 0u || (token & NOT_FINITE) > 0u;
    for (var i = 0u; i < min(load_word(control + CONTROL_STOP_COUNT), CONTROL_MOST_STOPS); i++) {
        ends = ends || load_word(control + CONTROL_STOPS + i) == token;
    }
    store_word(control + CONTROL_TOKENS + position % CONTROL_RING, token);
    store_word(control + CONTROL_LEFT, left);
    store_word(row_arg(args, SAMPLE_POSITION), select(position, IDLE, ends));
}
