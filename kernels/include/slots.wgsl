// Rows that are texts of their own: each has a position, and its slot's part of the state.

// The position of an idle row is beyond the state: it sees the first position only.
fn slot_position(args: u32, slot: u32) -> u32 {
    let position = load_word(arg(args, ATTENTION_POSITION) + slot);
    return select(0u, position, position < arg(args, ATTENTION_CAPACITY));
}
