// Memory that only one thread, or one workgroup, works on between barriers; or that an earlier dispatch wrote.
@group(0) @binding(1) var<storage, read_write> solo_states: array<u32>; // word w of individual i: w * population + i
@group(0) @binding(2) var<storage, read_write> solo_scores: array<u32>;
// Genes that the next generation's children are made of, of two generations by their parity.
@group(0) @binding(7) var<storage, read_write> solo_shared: array<u32>;

fn solo_states_load(i: u32) -> u32 { return solo_states[i]; }
fn solo_states_store(i: u32, value: u32) { solo_states[i] = value; }
fn solo_scores_load(i: u32) -> u32 { return solo_scores[i]; }
fn solo_scores_store(i: u32, value: u32) { solo_scores[i] = value; }
fn solo_shared_load(i: u32) -> u32 { return solo_shared[i]; }
fn solo_shared_store(i: u32, value: u32) { solo_shared[i] = value; }
