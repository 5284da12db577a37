// Workgroup memory for x, and for what else the threads of a workgroup exchange, as bits: the kernels of a megakernel
// share it. It is read in lines of four words. The first words of all lines lie side by side, then the second words,
// and so on, so that neighbouring threads read neighbouring words. (It is no array of vectors, because a write to one
// component may rewrite the others; and no single array, because a line would then need four bounds checks.)
const SHARED_X_MIN_WORDS = 2048u;
override SHARED_X_WORDS = SHARED_X_MIN_WORDS; // at least as many as the minimum
// a quarter or more; a line's words are in different banks
const SHARED_X_STRIDE = (SHARED_X_WORDS / 4u + 23u) / 32u * 32u + 8u;
var<workgroup> shared_x: array<array<u32, SHARED_X_STRIDE>, 4>;
fn shared_x_words(line: u32) -> vec4<u32> {
    return vec4<u32>(shared_x[0][line], shared_x[1][line], shared_x[2][line], shared_x[3][line]);
}
fn shared_x_vec4(line: u32) -> vec4<f32> { return bitcast<vec4<f32>>(shared_x_words(line)); }
fn shared_x_vec2(pair: u32) -> vec2<f32> {
    return bitcast<vec2<f32>>(vec2<u32>(shared_x[pair % 2u * 2u][pair / 2u], shared_x[pair % 2u * 2u + 1u][pair / 2u]));
}
fn store_shared_vec4(line: u32, value: vec4<f32>) {
    let words = bitcast<vec4<u32>>(value);
    shared_x[0][line] = words.x;
    shared_x[1][line] = words.y;
    shared_x[2][line] = words.z;
    shared_x[3][line] = words.w;
}
// The first SHARED_X_MIN_WORDS words as one list.
fn shared_word(i: u32) -> u32 { return shared_x[i / (SHARED_X_MIN_WORDS / 4u)][i % (SHARED_X_MIN_WORDS / 4u)]; }
fn store_shared_word(i: u32, word: u32) {
    shared_x[i / (SHARED_X_MIN_WORDS / 4u)][i % (SHARED_X_MIN_WORDS / 4u)] = word;
}
