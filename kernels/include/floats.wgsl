// Floats that come out the same in every kernel, and four at a time from anywhere.

// Four floats as they lie in memory; and their values, for which a thread waits if this run computes them (`made`):
// until then they have the epoch bit of the run before.
fn bits_of_vec4(at: vec4<u32>) -> vec4<u32> {
    return vec4<u32>(bits_at(at.x), bits_at(at.y), bits_at(at.z), bits_at(at.w));
}
fn floats_of(seen: vec4<u32>, at: vec4<u32>, made: bool) -> vec4<f32> {
    var bits = seen;
    for (var spins = 0u; spins < MAX_SPINS; spins++) {
        if (!made || (is_stale(bits.x) | is_stale(bits.y) | is_stale(bits.z) | is_stale(bits.w)) == 0u ||
            !keep_spinning(spins)) {
            break;
        }
        bits = bits_of_vec4(at);
    }
    return vec4<f32>(float_of(bits.x), float_of(bits.y), float_of(bits.z), float_of(bits.w));
}

// Compilers may fuse a product with a sum that follows, so that it is not rounded in between, and may do so in one
// kernel and not in another. Going through bits makes sure that it is rounded.
fn rounded(y: vec4<f32>) -> vec4<f32> { return bitcast<vec4<f32>>(bitcast<vec4<u32>>(y) & vec4<u32>(~1u)); }

//!include "inverse.wgsl"
