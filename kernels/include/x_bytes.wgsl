// x for matmul_row.wgsl, as whole numbers of a byte and a factor for each 32 of them; weights are whole numbers, too, with a factor
// and an offset for each chunk. Four products are then one step.
const FLOATS_FIRST = 1u; // 0: there is no room for x as floats
const LINES = 2u * APART;                    // of bytes
const JOINED = LINES + (CHUNKS + 1u) / 2u;   // from here on: x as floats, where a step between needs them

fn put_float(i: u32, value: f32) { staged[staged_at(JOINED + i / 4u, i % 4u)] = bitcast<u32>(value); }

fn number_of(value: f32, up: f32) -> i32 { return i32(round(value * up)); }
fn scale_for(most: f32) -> f32 { return select(0.0, 127.0 * inverse_of(most), most > 1e-30); }
fn byte_of(number: i32, i: u32) -> u32 { return (bitcast<u32>(number) & 255u) << (i % 4u * 8u); }
fn put_bytes(i: u32, four: u32) { staged[staged_at(i % 32u / 16u * APART + i / 32u, i % 16u / 4u)] = four; }
fn put_factors(i: u32, most: f32, sum: f32) {
    let line = LINES + i / 64u;
    let factor = most * (1.0 / 127.0);
    staged[staged_at(line, i / 32u % 2u * 2u)] = bitcast<u32>(factor);
    staged[staged_at(line, i / 32u % 2u * 2u + 1u)] = bitcast<u32>(factor * sum);
}

// Rows too long to lie there as floats: all threads of a subgroup of 32 come here together, each with its element. (Maxima and sums of
// whole numbers over a subgroup were seen to come out wrong on NVIDIA; floats are exact here, too.)
fn put_number(i: u32, value: f32, inside: bool) {
    let most = subgroupMax(abs(value));
    let number = number_of(value, scale_for(most));
    let sum = subgroupAdd(f32(number));
    var four = byte_of(number, i);
    four |= subgroupShuffleXor(four, 1u);
    four |= subgroupShuffleXor(four, 2u);
    if (inside && i % 4u == 0u) { put_bytes(i, four); }
    if (inside && i % 32u == 0u) { put_factors(i, most, sum); }
}

// Else eight threads share 32 elements, four each.
fn put_numbers(i: u32) {
    let inside = i < CHUNKS * 32u;
    let values = staged_four(JOINED + min(i, CHUNKS * 32u - 4u) / 4u);
    let four = abs(values);
    var most = max(max(four.x, four.y), max(four.z, four.w));
    for (var apart = 1u; apart < 8u; apart *= 2u) { most = max(most, subgroupShuffleXor(most, apart)); }
    let up = scale_for(most);
    let numbers = vec4<i32>(number_of(values.x, up), number_of(values.y, up), number_of(values.z, up), number_of(values.w, up));
    var sum = f32(numbers.x + numbers.y + numbers.z + numbers.w);
    for (var apart = 1u; apart < 8u; apart *= 2u) { sum += subgroupShuffleXor(sum, apart); }
    if (inside) { put_bytes(i, byte_of(numbers.x, 0u) | byte_of(numbers.y, 1u) | byte_of(numbers.z, 2u) | byte_of(numbers.w, 3u)); }
    if (inside && i % 32u == 0u) { put_factors(i, most, sum); }
}

fn put_x(i: u32, value: f32, inside: bool) {
    if (FLOATS_FIRST == 0u) {
        put_number(i, value, inside);
    } else if (inside) {
        put_float(i, value);
    }
}

fn put_joined(i: u32, value: f32) { put_float(i, value); }

fn settle_x(local: u32) {
    if (FLOATS_FIRST == 1u) {
        workgroupBarrier();
        for (var start = 0u; start < CHUNKS * 32u; start += THREADS * 4u) { put_numbers(start + local * 4u); }
    }
}

struct x_of_chunk {
    first: vec4<u32>,
    second: vec4<u32>,
    factor: f32,
    sum: f32, // of what they stand for
}

fn x_at(chunk: u32) -> x_of_chunk {
    let c = min(chunk, CHUNKS - 1u);
    let factors = staged_four(LINES + c / 2u);
    let two = select(vec2<f32>(), select(factors.xy, factors.zw, c % 2u == 1u), chunk < CHUNKS);
    return x_of_chunk(staged_words(c), staged_words(APART + c), two.x, two.y);
}

fn dot_row(b: bits_of_chunk, x: x_of_chunk) -> f32 {
    var sum = 0;
//!for j FOURS
    sum += dot4I8Packed(bytes_of(b, #ju), select(x.second, x.first, #ju < 4u)[#ju % 4u]);
//!end
    let factors = factors_of(b);
    return fma(factors.x, x.factor * f32(sum), factors.y * x.sum); // said so that it is the same everywhere
}

fn dot_chunk(b: quad_bits, x: x_of_chunk) -> vec4<f32> { return vec4<f32>(dot_row(b.x, x), dot_row(b.y, x), dot_row(b.z, x), dot_row(b.w, x)); }
