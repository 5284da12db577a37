// What the thread `distance` away has, the two of a pair exchanging; and what the one `distance` shuffle_down on has, where there is one.
fn shuffle_xor(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffleXor(x, distance); }
fn shuffle_down(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffleDown(x, distance); }
