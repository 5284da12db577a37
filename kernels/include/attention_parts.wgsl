// The parts that split attention left: each has sums of values, the maximum they are relative to, and the sum of
// their weights. What a part counts for in its head is worked out once for all heads of a row.
const MOST_PARTS = 256u; // that there is room for
var<workgroup> part_most: array<f32, MOST_PARTS>;
var<workgroup> part_total: array<f32, MOST_PARTS>;
var<workgroup> part_weight: array<f32, MOST_PARTS>;

fn weigh_parts(begin: u32, parts: u32, splits: u32, size: u32, local: u32) {
    for (var i = local; i < parts; i += THREADS) {
        part_most[i] = load(begin + i * (size + 2u) + size);
        part_total[i] = load(begin + i * (size + 2u) + size + 1u);
    }
    workgroupBarrier();
    for (var i = local; i < parts; i += THREADS) {
        let first = i / splits * splits;
        var most = -3.4e38;
        for (var s = 0u; s < splits; s++) { most = max(most, part_most[first + s]); }
        var total = 0.0;
        for (var s = 0u; s < splits; s++) { total += part_total[first + s] * exp(part_most[first + s] - most); }
        part_weight[i] = exp(part_most[i] - most) / total;
    }
    workgroupBarrier();
}
