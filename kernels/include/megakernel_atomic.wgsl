// The megakernel's memory where several workgroups share it: floats by epoch.wgsl, words and states by exchange.wgsl.
@group(0) @binding(1) var<storage, read_write> activations: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> states: array<atomic<u32>>;

fn load_word(i: u32) -> u32 { return activations_load(i); }
fn store_word(i: u32, value: u32) { activations_store(i, value); }
fn state_word(i: u32) -> u32 { return states_load(i); }
fn store_state_word(i: u32, value: u32) { states_store(i, value); }
