// Memory through which workgroups of one dispatch pass data to each other: plain stores may never be seen there. What was there
// before is given back, and when that has come, the new value is there for all: a barrier alone does not promise it (gate.wgsl).
@group(0) @binding(1) var<storage, read_write> solo_states: array<atomic<u32>>; // word w of individual i: w * population + i
@group(0) @binding(2) var<storage, read_write> solo_scores: array<atomic<u32>>;

fn solo_word(at: u32) -> u32 { return atomicLoad(&solo_states[at]); }
fn solo_set_word(at: u32, value: u32) { solo_given_back |= atomicExchange(&solo_states[at], value); }
fn solo_score_of(at: u32) -> f32 { return bitcast<f32>(atomicLoad(&solo_scores[at])); }
fn solo_set_score(at: u32, value: f32) { solo_given_back |= atomicExchange(&solo_scores[at], bitcast<u32>(value)); }
