// Element i of a row of weights that begins at byte `row`, whatever its type: the
// numbers are GGUF's. Plain and slow: what faster readers are compared with.
fn byte_at(b: u32) -> u32 { return (weights[b / 4u] >> ((b % 4u) * 8u)) & 255u; }
fn short_at(b: u32) -> u32 { return byte_at(b) | (byte_at(b + 1u) << 8u); }
fn half_at(b: u32) -> f32 { return unpack2x16float(short_at(b)).x; }
fn signed_at(b: u32) -> f32 { return f32(bitcast<i32>(byte_at(b) << 24u) >> 24u); }
fn nibble(b: u32, high: bool) -> u32 { let q = byte_at(b); return select(q & 15u, q >> 4u, high); }

// Scale and minimum of sub-block j in q4_K and q5_K: six bits each, packed in twelve bytes.
fn scale_min(s: u32, j: u32) -> vec2<f32> {
    if (j < 4u) { return vec2<f32>(f32(byte_at(s + j) & 63u), f32(byte_at(s + j + 4u) & 63u)); }
    let low = byte_at(s + j + 4u);
    return vec2<f32>(f32((low & 15u) | ((byte_at(s + j - 4u) >> 6u) << 4u)), f32((low >> 4u) | ((byte_at(s + j) >> 6u) << 4u)));
}

fn weight_at(number: u32, row: u32, i: u32) -> f32 {
    let j = i % 32u; // in a block of 32
    let k = i % 256u; // in a block of 256: half n, quarter of the half, lane l
    let n = k / 128u;
    let quarter = (k % 128u) / 32u;
    switch (number) {
        case 0u: { // f32
            return bitcast<f32>(short_at(row + 4u * i) | (short_at(row + 4u * i + 2u) << 16u));
        }
        case 1u: { // f16
            return half_at(row + 2u * i);
        }
        case 30u: { // bf16
            return bitcast<f32>(short_at(row + 2u * i) << 16u);
        }
        case 2u: { // q4_0
            let b = row + i / 32u * 18u;
            return (f32(nibble(b + 2u + j % 16u, j > 15u)) - 8.0) * half_at(b);
        }
        case 3u: { // q4_1
            let b = row + i / 32u * 20u;
            return f32(nibble(b + 4u + j % 16u, j > 15u)) * half_at(b) + half_at(b + 2u);
        }
        case 6u: { // q5_0
            let b = row + i / 32u * 22u;
            let high = (byte_at(b + 2u + j / 8u) >> (j % 8u)) & 1u;
            return (f32(nibble(b + 6u + j % 16u, j > 15u) | (high << 4u)) - 16.0) * half_at(b);
        }
        case 7u: { // q5_1
            let b = row + i / 32u * 24u;
            let high = (byte_at(b + 4u + j / 8u) >> (j % 8u)) & 1u;
            return f32(nibble(b + 8u + j % 16u, j > 15u) | (high << 4u)) * half_at(b) + half_at(b + 2u);
        }
        case 8u: { // q8_0
            let b = row + i / 32u * 34u;
            return signed_at(b + 2u + j) * half_at(b);
        }
        case 10u: { // q2_K
            let b = row + i / 256u * 84u;
            let s = byte_at(b + n * 8u + quarter * 2u + j / 16u);
            let q = (byte_at(b + 16u + n * 32u + j) >> (2u * quarter)) & 3u;
            return half_at(b + 80u) * f32(s & 15u) * f32(q) - half_at(b + 82u) * f32(s >> 4u);
        }
        case 11u: { // q3_K
            let b = row + i / 256u * 110u;
            let is = n * 8u + quarter * 2u + j / 16u;
            let low = nibble(b + 96u + is % 8u, is > 7u);
            let top = (byte_at(b + 104u + is % 4u) >> (2u * (is / 4u))) & 3u;
            let q = (byte_at(b + 32u + n * 32u + j) >> (2u * quarter)) & 3u;
            let kept = (byte_at(b + j) >> (n * 4u + quarter)) & 1u;
            return half_at(b + 108u) * (f32(low | (top << 4u)) - 32.0) * (f32(q) - select(4.0, 0.0, kept == 1u));
        }
        case 12u: { // q4_K
            let b = row + i / 256u * 144u;
            let sm = scale_min(b + 4u, k / 32u);
            let q = nibble(b + 16u + k / 64u * 32u + j, k % 64u > 31u);
            return half_at(b) * sm.x * f32(q) - half_at(b + 2u) * sm.y;
        }
        case 13u: { // q5_K
            let b = row + i / 256u * 176u;
            let sm = scale_min(b + 4u, k / 32u);
            let high = (byte_at(b + 16u + j) >> (k / 32u)) & 1u;
            let q = nibble(b + 48u + k / 64u * 32u + j, k % 64u > 31u) | (high << 4u);
            return half_at(b) * sm.x * f32(q) - half_at(b + 2u) * sm.y;
        }
        case 14u: { // q6_K
            let b = row + i / 256u * 210u;
            let low = nibble(b + n * 64u + (quarter & 1u) * 32u + j, quarter > 1u);
            let top = (byte_at(b + 128u + n * 32u + j) >> (2u * quarter)) & 3u;
            let scale = signed_at(b + 192u + n * 8u + quarter * 2u + j / 16u);
            return half_at(b + 208u) * scale * (f32(low | (top << 4u)) - 32.0);
        }
        default: { return 0.0; }
    }
}
