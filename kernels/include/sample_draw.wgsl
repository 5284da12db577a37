// A given or a random portion of a sum of likelihoods; include it after sample.wgsl.

// Philox 2x32-10: 32 random bits that depend on the seed and the number of tokens so far only.
fn random_bits(seed: u32, number: u32) -> u32 {
    var x = vec2<u32>(number, 0u);
    var key = seed;
    for (var round = 0u; round < at_run_time(10u); round++) {
        let product = multiply_wide(0xd256d193u, x.x);
        x = vec2<u32>(product.y ^ key ^ x.y, product.x);
        key += 0x9e3779b9u;
    }
    return x.x;
}

// A random number below the total.
fn draw(args: u32, total: vec2<u32>, seed: u32) -> vec2<u32> {
    return multiply_longer(total, random_bits(seed,
        load_word(arg(args, SAMPLE_POSITION)) + arg(args, SAMPLE_POSITION_PLUS))).yz;
}

// The least integer that is at least p / 2^32 of the total, less 1: a running sum has to exceed it.
fn portion(total: vec2<u32>, p: u32) -> vec2<u32> {
    let product = multiply_longer(total, p);
    return select(product.yz, subtract_wide(product.yz, vec2<u32>(1u, 0u)), product.x == 0u &&
        any(product.yz != vec2<u32>(0u)));
}
