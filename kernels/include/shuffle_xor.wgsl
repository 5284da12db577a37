// Exchanges within a subgroup: shuffle_xor with the thread whose number differs by the bits of `distance`, shuffle_down
// from the thread `distance` behind this one, if there is one.
fn shuffle_xor(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffleXor(x, distance); }
fn shuffle_down(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffleDown(x, distance); }
