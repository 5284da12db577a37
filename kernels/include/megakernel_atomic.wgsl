// Memory that workgroups of one dispatch share: what one writes and another reads goes through atomics, since plain
// stores may not be visible there, barrier or not. And no barrier of WGSL orders what one workgroup writes for the others:
// it may see that all have arrived before it sees all that they wrote. There are two ways out.
//
// Floats have marks, if all who read them look at those (MARKED): the lowest bit changes from round to round, and
// nothing is written twice in a round, so a float with the other mark is the one of the round before, and is read again.
//
// For the rest a thread has the old value given back before it arrives: when that has come, the new one is there for all.
//
// Between phases that know by marks what is there nobody need arrive or wait.
@group(0) @binding(1) var<storage, read_write> activations: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> states: array<atomic<u32>>;

var<private> mark: u32;       // of this round
var<private> given_back: u32;

fn begin_round(round: u32) { mark = (atomicLoad(&gate[5]) + round + 1u) & EPOCH_BIT; }

fn load(i: u32) -> f32 { return float_of(atomicLoad(&activations[i])); }
fn store(i: u32, value: f32) {
    if (MARKED == 1u) {
        atomicStore(&activations[i], (bitcast<u32>(value) & ~EPOCH_BIT) | mark);
    } else {
        given_back |= atomicExchange(&activations[i], bitcast<u32>(value) & ~EPOCH_BIT);
    }
}
fn bits_at(i: u32) -> u32 { return atomicLoad(&activations[i]); }
const MAX_SPINS = 0xffffffffu;
fn is_stale(bits: u32) -> u32 { return (bits ^ mark) & (course.spins * MARKED); }
fn keep_spinning(spins: u32) -> bool {
    if (spins > course.spin_limit) { given_back |= atomicOr(&gate[0], GAVE_UP); }
    return spins <= course.spin_limit && (spins % 64u != 63u || atomicLoad(&gate[0]) < GAVE_UP);
}
// For tests: there what workgroup 0 writes is never taken for that of this round.
fn pass_by_marks(group: u32, passed: u32) {
    if (group == 0u && passed == course.stall) { mark ^= 1u; }
}
fn load_word(i: u32) -> u32 { return atomicLoad(&activations[i]); }
fn store_word(i: u32, value: u32) { given_back |= atomicExchange(&activations[i], value); }
fn state_word(i: u32) -> u32 { return atomicLoad(&states[i]); }
fn store_state_word(i: u32, value: u32) { given_back |= atomicExchange(&states[i], value); }

// Waits until what this thread has written is there: compilers do not know that `nothing` is 0.
fn settle() {
    if ((given_back & course.nothing) != 0u) { atomicStore(&gate[4], given_back); }
    given_back = 0u;
}
