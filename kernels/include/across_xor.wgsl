// What the thread `distance` away has, the two of a pair exchanging; and what the one `distance` further on has, where there is one.
fn across(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffleXor(x, distance); }
fn further(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffleDown(x, distance); }
