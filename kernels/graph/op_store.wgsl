// Rows of x into a state (a KV cache) from a position on, as f32, f16, q8_0 or q4_0; rows beyond the state's end are
// dropped. A thread has two elements, or 64 of a quantised state.
override THREADS = 64u;
//!include "graph.wgsl"
//!include "polled.wgsl"
//!include "floats.wgsl"
//!include "cache.wgsl"

fn x_of(args: u32, i: u32) -> f32 { return polled(arg(args, ARG_X) + i, arg(args, STORE_X_COMPUTED) == 1u); }

// 32 elements from element i of x on, to word `to`. Returns their factor, whose inverse is that of the rounded one.
fn store_32(args: u32, i: u32, to: u32) -> f32 {
    let four_bits = arg(args, STORE_CACHE) == CACHE_Q4_0;
    var most = 0.0;
    for (var k = 0u; k < at_run_time(32u); k++) {
        let x = x_of(args, i + k);
        if (abs(x) > abs(most)) { most = x; }
    }
    // The farthest element becomes -8, the side that has one more step, or 127.
    let exact = select(abs(most) * (1.0 / 127.0), most * -0.125, four_bits);
    let factor = unpack2x16float(pack2x16float(vec2<f32>(exact, 0.0))).x;
    var inverse = 0.0;
    if (factor != 0.0) { inverse = inverse_of(abs(factor)) * sign(factor); }
    let each = select(4u, 8u, four_bits);
    for (var word = 0u; word < 32u / each; word++) {
        var bits = 0u;
        for (var k = 0u; k < each; k++) {
            let n = i32(clamp(round(x_of(args, i + word * each + k) * inverse), -127.0, 127.0));
            bits |= select(u32(n) & 255u, u32(clamp(n, -8, 7) + 8), four_bits) << (k * 32u / each);
        }
        store_state_word(to + word, bits);
    }
    return factor;
}

fn body(args: u32, v: u32, local: u32) {
    let cache = arg(args, STORE_CACHE);
    let quantised = cache >= CACHE_Q8_0;
    let i = (v * THREADS + local) * select(2u, 64u, quantised);
//!for _ ALONE
    let first = load_word(arg(args, STORE_POSITION)) * arg(args, STORE_ROW_LENGTH);
    if (i >= arg(args, STORE_COUNT) || first + i + 2u > arg(args, STORE_CAPACITY) * arg(args, STORE_ROW_LENGTH)) {
        return;
    }
//!end
//!for _ SLOTTED
    if (i >= arg(args, STORE_COUNT)) { return; }
    let row = i / arg(args, STORE_ROW_LENGTH);
    let position = load_word(arg(args, STORE_POSITION) + row);
    if (position >= arg(args, STORE_CAPACITY)) { return; } // an idle row
    let first = (row * arg(args, STORE_CAPACITY) + position - row) * arg(args, STORE_ROW_LENGTH); // i counts rows, too
//!end
    if (quantised) {
        let group = cache_group(cache, arg(args, STORE_STATE), first + i);
        let words = select(8u, 4u, cache == CACHE_Q4_0);
        let low = store_32(args, i, group);
        let high = store_32(args, i + 32u, group + words);
        store_state_word(group + 2u * words, pack2x16float(vec2<f32>(low, high)));
        return;
    }
    let pair = vec2<f32>(x_of(args, i), x_of(args, i + 1u));
    if (cache == CACHE_F16) {
        store_state_word(arg(args, STORE_STATE) + (first + i) / 2u, pack2x16float(pair));
    } else {
        store_state_word(arg(args, STORE_STATE) + first + i, bitcast<u32>(pair.x));
        store_state_word(arg(args, STORE_STATE) + first + i + 1u, bitcast<u32>(pair.y));
    }
}
