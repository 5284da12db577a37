// Sums over a subgroup of SUBGROUP threads, all of which call, in an order that is said, so that all kernels do the same: subgroupAdd may
// add up in any.
const SUBGROUP_BITS = firstTrailingBit(SUBGROUP);

fn sum_over_subgroup(value: f32) -> f32 {
    var sum = value;
    for (var i = 1u; i < SUBGROUP_BITS + 1u; i++) { sum += subgroupShuffleXor(sum, SUBGROUP >> i); }
    return sum;
}

fn sums_over_subgroup(value: vec4<f32>) -> vec4<f32> {
    var sum = value;
    for (var i = 1u; i < SUBGROUP_BITS + 1u; i++) { sum += subgroupShuffleXor(sum, SUBGROUP >> i); }
    return sum;
}
