// The same as across_xor.wgsl where exchanges are checked: a quad's are not, and those by number are before the exchange, not after it, when
// someone waits for it (docs/facts.md, "What Tint adds").
fn across(x: f32, distance: u32, local: u32) -> f32 {
    if (distance == 1u) { return quadSwapX(x); }
    if (distance == 2u) { return quadSwapY(x); }
    return subgroupShuffle(x, (local % SUBGROUP) ^ distance);
}
fn further(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffle(x, local % SUBGROUP + distance); }
