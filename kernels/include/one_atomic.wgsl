// Memory that workgroups of one dispatch share: what one writes and another reads goes through atomics, since plain
// stores may not be visible there, barrier or not. No barrier of WGSL orders what one workgroup writes for the others, so
// a thread has the old value given back, and when that has come, the new one is there for all.
@group(0) @binding(1) var<storage, read_write> activations: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> states: array<atomic<u32>>;

var<private> given_back: u32;

fn load(i: u32) -> f32 { return bitcast<f32>(atomicLoad(&activations[i])); }
fn store(i: u32, value: f32) { given_back |= atomicExchange(&activations[i], bitcast<u32>(value)); }
fn load_word(i: u32) -> u32 { return atomicLoad(&activations[i]); }
fn store_word(i: u32, value: u32) { given_back |= atomicExchange(&activations[i], value); }
fn state_word(i: u32) -> u32 { return atomicLoad(&states[i]); }
fn store_state_word(i: u32, value: u32) { given_back |= atomicExchange(&states[i], value); }

// Waits until all that this thread has written is there: compilers do not know that `nothing` is.
fn settle() {
    if ((given_back & course.nothing) != 0u) { atomicStore(&gate[4], given_back); }
    given_back = 0u;
}
