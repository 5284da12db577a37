// The parts that split attention left: each has sums of values, the maximum they are relative to, and the sum of
// their weights. What a part counts for in its head is worked out once for all heads of a row.
override MAX_SPLITS = 256u; // that there is room for
var<workgroup> split_max: array<f32, MAX_SPLITS>;
var<workgroup> split_sum: array<f32, MAX_SPLITS>;
var<workgroup> split_weight: array<f32, MAX_SPLITS>;

fn weigh_splits(prefetch: u32, parts: u32, splits: u32, size: u32, local: u32) {
    for (var i = local; i < parts; i += THREADS) {
        split_max[i] = load(prefetch + i * (size + 2u) + size);
        split_sum[i] = load(prefetch + i * (size + 2u) + size + 1u);
    }
    workgroupBarrier();
    for (var i = local; i < parts; i += THREADS) {
        let first = i / splits * splits;
        var most = -3.4e38;
        for (var s = 0u; s < splits; s++) { most = max(most, split_max[first + s]); }
        var total = 0.0;
        for (var s = 0u; s < splits; s++) { total += split_sum[first + s] * exp(split_max[first + s] - most); }
        split_weight[i] = exp(split_max[i] - most) / total;
    }
    workgroupBarrier();
}
