// Split attention: how many of the positions that a row sees each split gets. Whole blocks of 64; the last splits may
// get none.
fn share_of(seen: u32, splits: u32) -> u32 { return (seen + splits * 64u - 1u) / (splits * 64u) * 64u; }
