// Positions that each part of split attention has, of so many seen: whole blocks of 64. The parts beyond the last have none.
fn share_of(seen: u32, splits: u32) -> u32 { return (seen + splits * 64u - 1u) / (splits * 64u) * 64u; }
