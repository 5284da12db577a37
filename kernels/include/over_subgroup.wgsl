// Sums over a subgroup of SUBGROUP threads, all of which call, in an order that is said, so that all kernels do the same: subgroupAdd may
// add up in any.
fn sum_over_subgroup(value: f32) -> f32 {
    var sum = value;
    for (var apart = SUBGROUP / 2u; apart > 0u; apart /= 2u) { sum += subgroupShuffleXor(sum, apart); }
    return sum;
}

fn sums_over_subgroup(value: vec4<f32>) -> vec4<f32> {
    var sum = value;
    for (var apart = SUBGROUP / 2u; apart > 0u; apart /= 2u) { sum += subgroupShuffleXor(sum, apart); }
    return sum;
}
