// Floats of ARRAY with an epoch bit: readers poll the data itself, so that no barrier is needed between two phases.
// The lowest bit of a float changes from round to round, and nothing is written twice in a round: a float with the
// other bit is the one of the round before, and is read again. Where not all readers poll (EPOCH_MARKED 0), floats are
// exchanged as words are (exchange.wgsl), and a barrier follows.
var<private> epoch: u32; // of this round

fn start_round(round: u32) { epoch = (atomicLoad(&solo_grid[SOLO_ROUNDS]) + round + 1u) & EPOCH_BIT; }

fn load(i: u32) -> f32 { return float_of(atomicLoad(&ARRAY[i])); }
fn store(i: u32, value: f32) {
    if (EPOCH_MARKED == 1u) {
        atomicStore(&ARRAY[i], (bitcast<u32>(value) & ~EPOCH_BIT) | epoch);
    } else {
        solo_exchanged |= atomicExchange(&ARRAY[i], bitcast<u32>(value) & ~EPOCH_BIT);
    }
}
fn bits_at(i: u32) -> u32 { return atomicLoad(&ARRAY[i]); }
const MAX_SPINS = 0xffffffffu;
fn is_stale(bits: u32) -> u32 { return (bits ^ epoch) & (solo_params.launch.polls_epoch * EPOCH_MARKED); }
fn keep_spinning(spins: u32) -> bool {
    if (spins > solo_params.launch.spin_limit) { solo_exchanged |= atomicOr(&solo_grid[SOLO_ARRIVED], SOLO_TIMED_OUT); }
    return spins <= solo_params.launch.spin_limit &&
           (spins % 64u != 63u || atomicLoad(&solo_grid[SOLO_ARRIVED]) < SOLO_TIMED_OUT);
}
// For tests: from barrier `stall` on, what workgroup 0 writes is never taken for that of this round.
fn pass_without_barrier(group: u32, nth: u32) {
    if (group == 0u && nth == solo_params.launch.stall) { epoch ^= 1u; }
}
