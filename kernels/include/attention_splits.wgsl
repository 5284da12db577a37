// Combining what split attention left. Each split wrote SIZE sums of weighted values, the maximum score that their
// weights are relative to, and the sum of the weights. Here each split's share of its head's result is computed, for
// all heads of a row at once.
override MAX_SPLITS = 256u; // splits of all heads that there is room for
var<workgroup> split_max: array<f32, MAX_SPLITS>;
var<workgroup> split_sum: array<f32, MAX_SPLITS>;
var<workgroup> split_weight: array<f32, MAX_SPLITS>;

// `first_split`: the place of the first; `split_count` of them, `splits` for each head.
fn weigh_splits(first_split: u32, split_count: u32, splits: u32, size: u32, local: u32) {
    for (var i = local; i < split_count; i += THREADS) {
        split_max[i] = load(first_split + i * (size + 2u) + size);
        split_sum[i] = load(first_split + i * (size + 2u) + size + 1u);
    }
    workgroupBarrier();
    for (var i = local; i < split_count; i += THREADS) {
        let first = i / splits * splits;
        var most = -3.4e38;
        for (var s = 0u; s < splits; s++) { most = max(most, split_max[first + s]); }
        var total = 0.0;
        for (var s = first; s < first + splits; s++) { total = fma(split_sum[s], exp(split_max[s] - most), total); }
        split_weight[i] = exp(split_max[i] - most) * inverse_of(total);
    }
    workgroupBarrier();
}
