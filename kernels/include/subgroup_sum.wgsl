// Sums over a subgroup of SUBGROUP threads (32 at most), all of which call, in a fixed order, so that all kernels get
// the same sums: subgroupAdd may add in any.
//!include "shuffle_EXCHANGE.wgsl"

// Over `span` consecutive threads, a power of two.
fn sum_over(value: f32, span: u32, local: u32) -> f32 {
    var sum = value;
    if (span > 16u) { sum += shuffle_xor(sum, 16u, local); }
    if (span > 8u) { sum += shuffle_xor(sum, 8u, local); }
    if (span > 4u) { sum += shuffle_xor(sum, 4u, local); }
    if (span > 2u) { sum += shuffle_xor(sum, 2u, local); }
    if (span > 1u) { sum += shuffle_xor(sum, 1u, local); }
    return sum;
}
fn sum_over_subgroup(value: f32, local: u32) -> f32 { return sum_over(value, SUBGROUP, local); }
