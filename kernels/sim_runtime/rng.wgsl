// Counter-based random numbers: Threefry-2x32 with 20 rounds (Salmon et al., 2011; also JAX's). A number is a function
// of the seed, the individual, the step and how many were drawn in it, by integer arithmetic only: the same on every
// device and with any number of dispatches.
struct Rng {
    key: vec2<u32>,   // seed, individual
    count: vec2<u32>, // step, pairs drawn in it
    spare: u32,       // the second of a pair, while has_spare
    has_spare: bool,
}

fn solo_threefry_round(x: vec2<u32>, by: u32) -> vec2<u32> {
    let sum = x.x + x.y;
    return vec2(sum, ((x.y << by) | (x.y >> (32u - by))) ^ sum);
}

fn solo_threefry(key: vec2<u32>, count: vec2<u32>) -> vec2<u32> {
    let third = 0x1bd11bdau ^ key.x ^ key.y;
    var x = count + key;
    x = solo_threefry_round(x, 13u); x = solo_threefry_round(x, 15u);
    x = solo_threefry_round(x, 26u); x = solo_threefry_round(x, 6u);
    x += vec2(key.y, third + 1u);
    x = solo_threefry_round(x, 17u); x = solo_threefry_round(x, 29u);
    x = solo_threefry_round(x, 16u); x = solo_threefry_round(x, 24u);
    x += vec2(third, key.x + 2u);
    x = solo_threefry_round(x, 13u); x = solo_threefry_round(x, 15u);
    x = solo_threefry_round(x, 26u); x = solo_threefry_round(x, 6u);
    x += vec2(key.x, key.y + 3u);
    x = solo_threefry_round(x, 17u); x = solo_threefry_round(x, 29u);
    x = solo_threefry_round(x, 16u); x = solo_threefry_round(x, 24u);
    x += vec2(key.y, third + 4u);
    x = solo_threefry_round(x, 13u); x = solo_threefry_round(x, 15u);
    x = solo_threefry_round(x, 26u); x = solo_threefry_round(x, 6u);
    x += vec2(third, key.x + 5u);
    return x;
}

fn random_u32(rng: ptr<function, Rng>) -> u32 {
    if ((*rng).has_spare) {
        (*rng).has_spare = false;
        return (*rng).spare;
    }
    let pair = solo_threefry((*rng).key, (*rng).count);
    (*rng).count.y += 1u;
    (*rng).spare = pair.y;
    (*rng).has_spare = true;
    return pair.x;
}

// 0 <= x < 1, in steps of 2^-24
fn random(rng: ptr<function, Rng>) -> f32 { return f32(random_u32(rng) >> 8u) * 0x1p-24f; }

// Two independent ones of mean 0 and deviation 1 (Box and Muller), and one of them.
fn normal2(rng: ptr<function, Rng>) -> vec2<f32> {
    let radius = sqrt(-2.0 * log(1.0 - random(rng)));
    let angle = 6.2831853 * random(rng);
    return vec2(radius * cos(angle), radius * sin(angle));
}
fn normal(rng: ptr<function, Rng>) -> f32 { return normal2(rng).x; }
