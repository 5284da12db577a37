// Exchanges within a subgroup, as in shuffle_xor.wgsl, for compilers that check their operands (docs/facts.md, "What
// Tint adds"): quad operations have no check, and that of subgroupShuffle comes before the exchange, not after it,
// where a thread would wait for it.
fn shuffle_xor(x: f32, distance: u32, local: u32) -> f32 {
    if (distance == 1u) { return quadSwapX(x); }
    if (distance == 2u) { return quadSwapY(x); }
    return subgroupShuffle(x, (local % SUBGROUP) ^ distance);
}
fn shuffle_down(x: f32, distance: u32, local: u32) -> f32 { return subgroupShuffle(x, local % SUBGROUP + distance); }
