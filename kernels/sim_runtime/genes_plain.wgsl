// Genes that other individuals' children are made of, of two generations by their parity: one workgroup's, or an earlier dispatch's.
@group(0) @binding(7) var<storage, read_write> solo_shared: array<u32>;
fn solo_shared_gene(at: u32) -> f32 { return bitcast<f32>(solo_shared[at]); }
fn solo_share_gene(at: u32, value: f32) { solo_shared[at] = bitcast<u32>(value); }
