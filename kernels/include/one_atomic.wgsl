// Memory that workgroups of one dispatch share: what one writes and another reads goes through atomics, since plain
// stores may not be visible there, barrier or not.
@group(0) @binding(1) var<storage, read_write> activations: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> states: array<atomic<u32>>;

fn load(i: u32) -> f32 { return bitcast<f32>(atomicLoad(&activations[i])); }
fn store(i: u32, value: f32) { atomicStore(&activations[i], bitcast<u32>(value)); }
fn load_word(i: u32) -> u32 { return atomicLoad(&activations[i]); }
fn store_word(i: u32, value: u32) { atomicStore(&activations[i], value); }
fn state_word(i: u32) -> u32 { return atomicLoad(&states[i]); }
fn store_state_word(i: u32, value: u32) { atomicStore(&states[i], value); }
