// Positions that each part of split attention has, of so many seen: at least two blocks of 64, so that few parts are
// left while the context is short. The parts beyond the last have none.
fn share_of(seen: u32, splits: u32) -> u32 { return max((seen + splits * 64u - 1u) / (splits * 64u) * 64u, select(128u, 64u, splits == 1u)); }
