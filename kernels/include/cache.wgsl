// States of q8_0 and q4_0: each 64 elements are the words of their numbers (16 of four bytes, or 8 of eight nibbles)
// and a word with two f16 factors, one for each 32.
const CACHE_F16 = 1u;
const CACHE_Q8_0 = 3u;
const CACHE_Q4_0 = 4u;

// The word at which the 64 elements with element e begin.
fn cache_group(cache: u32, base: u32, e: u32) -> u32 { return base + e / 64u * select(17u, 9u, cache == CACHE_Q4_0); }

// Elements e and e+1 of such a state, which begins at word `base`; e is even.
fn cache_pair(cache: u32, base: u32, e: u32) -> vec2<f32> {
    let group = cache_group(cache, base, e);
    if (cache == CACHE_Q4_0) {
        let w = state_word(group + e % 64u / 8u) >> (e % 8u * 4u);
        let f = unpack2x16float(state_word(group + 8u) >> (e / 32u % 2u * 16u)).x;
        return (vec2<f32>(f32(w & 15u), f32((w >> 4u) & 15u)) - 8.0) * f;
    }
    let w = state_word(group + e % 64u / 4u) >> (e % 4u * 8u);
    let f = unpack2x16float(state_word(group + 16u) >> (e / 32u % 2u * 16u)).x;
    return vec2<f32>(f32(bitcast<i32>(w << 24u) >> 24u), f32(bitcast<i32>(w << 16u) >> 24u)) * f;
}
