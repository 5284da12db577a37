// Memory through which workgroups of one dispatch pass data to each other (include/exchange.wgsl).
// word w of individual i: w * population + i
@group(0) @binding(1) var<storage, read_write> solo_states: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> solo_scores: array<atomic<u32>>;
// Genes that the next generation's children are made of, of two generations by their parity.
@group(0) @binding(7) var<storage, read_write> solo_shared: array<atomic<u32>>;
