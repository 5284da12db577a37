// A float of the activations, for which a thread waits if this run computes it (`made`): until then it has the epoch
// bit of the run before. A kernel that reads all its floats so needs no barrier before it.
fn polled(i: u32, made: bool) -> f32 {
    if (EPOCH_BIT == 0u) { return load(i); }
    var bits = bits_at(i);
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        if (!made || is_stale(bits) == 0u || !keep_spinning(spins)) { break; }
        bits = bits_at(i);
    }
    return float_of(bits);
}
