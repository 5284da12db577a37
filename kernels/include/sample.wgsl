// What the kernels that sample a token share: the settings, and arithmetic whose results are bit for bit the same on
// every GPU, with any number of threads, and on the CPU (src/graph/sample.c).
//
// The vocabulary is worked on in slices; op_sample_scan.wgsl writes SLICE_SIZE words about each (kernels/args.txt).
//
// Logits become keys: integers in the same order, 0 for no token. A likelihood is an integer of 64 bits, 2^42 for the
// most likely token and halved for each bit of difference, so that sums are exact in any order. A token with less than
// 2^-42 of the likelihood of the most likely one is never chosen.
const SETTING_SCALE = 0u;    // f32: 2^24 * log2(e) / temperature; 0: the most likely token
const SETTING_TOP_K = 1u;    // 0: all
const SETTING_TOP_P = 2u;    // 2^32 * p; 0: all
const SETTING_MIN_LOG = 3u;  // f32: log(min_p); NO_MIN_LOG or less: all
const SETTING_PENALTY = 4u;  // f32: the factor of recent tokens' logits up to 0
const SETTING_REWARD = 5u;   // f32: the factor of those above 0
const SETTING_RECENT = 6u;   // how many tokens are recent; 0: no penalty
const SETTING_SEED = 7u;
const SETTINGS = 8u;
const NO_MIN_LOG = -1e31;
const SCALE_OF_ONE = 24204406.0; // of temperature 1
const LANES = 64u;               // threads that share a slice

// Lists of slices and of candidates in workgroup memory; other uses are described where they occur.
const LONGEST = 1024u;
const KEYS_AT = 0u;         // in `shared_x`
const SLICES_AT = LONGEST;  // likewise; or the low halves of the slices' sums
var<workgroup> list_ids: array<atomic<u32>, LONGEST>; // or a search's bins; or the high halves

// The bits of a logit made safe for arithmetic: NaN is 1e30, larger numbers are +-1e30, denormals (which GPUs may take
// for 0) and -0 are 0. So the best key shows whether any logit is NaN or infinite.
fn tamed(bits: u32) -> u32 {
    let size = bits & 0x7fffffffu;
    let sign = select(bits & 0x80000000u, 0u, size > 0x7f800000u); // NaN is positive
    return select(sign | min(size, 0x7149f2cau), 0u, size < 0x00800000u);
}

const LEAST_KEY = 0x0eb60d35u; // of -1e30
const LARGE_KEY = 0xe5a96816u; // of 1e23: no logit, and less than any penalty leaves of 1e30
// In the history beside a token that was chosen among logits that are not finite: they are no choice.
const NOT_FINITE = 0x80000000u;
fn finiteness(best_key: u32) -> u32 {
    return select(0u, NOT_FINITE, best_key >= LARGE_KEY || best_key <= LEAST_KEY);
}
fn key_of(tame: u32) -> u32 { return select(tame | 0x80000000u, ~tame, tame >= 0x80000000u); }
fn logit_of(key: u32) -> f32 { return bitcast<f32>(select(~key, key & 0x7fffffffu, key >= 0x80000000u)); }

// ---- integers of 64 bits: (low, high) --------------------------------------

fn add_wide(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn subtract_wide(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

fn less_wide(a: vec2<u32>, b: vec2<u32>) -> bool { return a.y < b.y || (a.y == b.y && a.x < b.x); }

fn shift_right_wide(a: vec2<u32>, bits: u32) -> vec2<u32> {
    let high = select(a.y >> (bits % 32u), 0u, bits >= 32u);
    let low = (a.x >> (bits % 32u)) | ((a.y << 1u) << (31u - bits % 32u));
    return vec2<u32>(select(select(low, a.y >> (bits % 32u), bits >= 32u), 0u, bits >= 64u), high);
}

fn multiply_wide(a: u32, b: u32) -> vec2<u32> {
    let low = (a & 0xffffu) * (b & 0xffffu);
    let middle = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
    let other = (a & 0xffffu) * (b >> 16u) + (middle & 0xffffu);
    return vec2<u32>(a * b, (a >> 16u) * (b >> 16u) + (middle >> 16u) + (other >> 16u));
}

// The 96 bits of a * b.
fn multiply_longer(a: vec2<u32>, b: u32) -> vec3<u32> {
    let low = multiply_wide(a.x, b);
    let high = add_wide(multiply_wide(a.y, b), vec2<u32>(low.y, 0u));
    return vec3<u32>(low.x, high);
}

// ---- likelihoods ----------------------------------------------------------

// How far a logit is below the best one, in 2^-24 of a halving of its likelihood.
fn halvings(best: f32, logit: f32, scale: f32) -> u32 { return u32(min((best - logit) * scale, 1073741824.0)); }

// 2^31 * 2^-(fraction / 2^24), to 27 bits, by a polynomial.
fn part_of_two(fraction: u32) -> u32 {
    let f = fraction << 8u;
    var r = 5547538u - multiply_wide(f, 493577u).y;
    r = 41218952u - multiply_wide(f, r).y;
    r = 238367376u - multiply_wide(f, r).y;
    r = 1031763206u - multiply_wide(f, r).y;
    r = 2977044447u - multiply_wide(f, r).y;
    return 0x80000000u - (multiply_wide(f, r).y >> 1u);
}

fn likelihood(key: u32, best: f32, scale: f32) -> vec2<u32> {
    let h = halvings(best, logit_of(max(key, LEAST_KEY)), scale);
    let part = part_of_two(h & 0xffffffu);
    return select(shift_right_wide(vec2<u32>(part << 11u, part >> 21u), h >> 24u), vec2<u32>(0u), key == 0u);
}

// A sum of likelihoods that are relative to one logit, made relative to a better one.
fn against(sum: vec2<u32>, logit: f32, best: f32, scale: f32) -> vec2<u32> {
    let h = halvings(best, logit, scale);
    let product = multiply_longer(sum, part_of_two(h & 0xffffffu));
    return shift_right_wide(vec2<u32>((product.y << 1u) | (product.x >> 31u), (product.z << 1u) | (product.y >> 31u)),
        h >> 24u);
}
