// Memory that only one thread, or one workgroup, works on between barriers.
@group(0) @binding(1) var<storage, read_write> solo_states: array<u32>; // word w of individual i: w * population + i
@group(0) @binding(2) var<storage, read_write> solo_scores: array<u32>;

fn solo_word(at: u32) -> u32 { return solo_states[at]; }
fn solo_set_word(at: u32, value: u32) { solo_states[at] = value; }
fn solo_score_of(at: u32) -> f32 { return bitcast<f32>(solo_scores[at]); }
fn solo_set_score(at: u32, value: f32) { solo_scores[at] = bitcast<u32>(value); }
