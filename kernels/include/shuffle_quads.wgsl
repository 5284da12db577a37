// The same as shuffle_xor.wgsl where exchanges are checked: a row4's are not, and those by number are before the exchange, not after it, when
// someone waits for it (docs/facts.md, "What Tint adds").
fn shuffle_xor(x: f32, distance: u32, local: u32) -> f32 {
    if (distance == 1u) { return quadSwapX(x); }
    if (distance == 2u) { return quadSwapY(x); }
    return subgroupShuffle(x, (local % SUBGROUP) ^ distance);
}
fn shuffle_down(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffle(x, local % SUBGROUP + distance); }
