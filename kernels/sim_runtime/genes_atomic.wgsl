// Genes that other individuals' children are made of, of two generations by their parity: other workgroups', through atomics.
@group(0) @binding(7) var<storage, read_write> solo_shared: array<atomic<u32>>;
fn solo_shared_gene(at: u32) -> f32 { return bitcast<f32>(atomicLoad(&solo_shared[at])); }
fn solo_share_gene(at: u32, value: f32) { solo_given_back |= atomicExchange(&solo_shared[at], bitcast<u32>(value)); }
