// The megakernel's memory where one workgroup has it to itself: the barriers of a workgroup are enough.
@group(0) @binding(1) var<storage, read_write> activations: array<u32>;
@group(0) @binding(2) var<storage, read_write> states: array<u32>;

fn load(i: u32) -> f32 { return float_of(activations[i]); }
fn store(i: u32, value: f32) { activations[i] = bitcast<u32>(value) & ~EPOCH_BIT; }
fn bits_at(i: u32) -> u32 { return activations[i]; }
const MAX_SPINS = 0xffffffffu;
fn is_stale(bits: u32) -> u32 { return 0u; }
fn keep_spinning(spins: u32) -> bool { return false; }
fn load_word(i: u32) -> u32 { return activations[i]; }
fn store_word(i: u32, value: u32) { activations[i] = value; }
fn state_word(i: u32) -> u32 { return states[i]; }
fn store_state_word(i: u32, value: u32) { states[i] = value; }

fn start_round(round: u32) {}
