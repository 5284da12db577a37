// What the threads of a workgroup have for each other, x above all, as bits: the kernels of one dispatch share this memory. It is read
// in lines of four words, whose firsts lie side by side, then their seconds, and so on: neighbours ask for neighbouring words. (Not as
// vectors: who writes a component of one may write the others again. And not as one array: where bounds are checked, a line's words would have
// four places to check.)
const SHARED_X_MIN_WORDS = 2048u;
override SHARED_X_WORDS = SHARED_X_MIN_WORDS; // words, at least
const SHARED_X_STRIDE = (SHARED_X_WORDS / 4u + 23u) / 32u * 32u + 8u; // at least a quarter, and the words of a line are in banks of their own
var<workgroup> shared_x: array<array<u32, SHARED_X_STRIDE>, 4>;
fn shared_x_words(line: u32) -> vec4<u32> { return vec4<u32>(shared_x[0][line], shared_x[1][line], shared_x[2][line], shared_x[3][line]); }
fn shared_x_vec4(line: u32) -> vec4<f32> { return bitcast<vec4<f32>>(shared_x_words(line)); }
fn shared_x_vec2(pair: u32) -> vec2<f32> { return bitcast<vec2<f32>>(vec2<u32>(shared_x[pair % 2u * 2u][pair / 2u], shared_x[pair % 2u * 2u + 1u][pair / 2u])); }
fn store_shared_vec4(line: u32, value: vec4<f32>) {
    let words = bitcast<vec4<u32>>(value);
    shared_x[0][line] = words.x;
    shared_x[1][line] = words.y;
    shared_x[2][line] = words.z;
    shared_x[3][line] = words.w;
}
// The same as one list.
fn shared_word(i: u32) -> u32 { return shared_x[i / (SHARED_X_MIN_WORDS / 4u)][i % (SHARED_X_MIN_WORDS / 4u)]; }
fn store_shared_word(i: u32, word: u32) { shared_x[i / (SHARED_X_MIN_WORDS / 4u)][i % (SHARED_X_MIN_WORDS / 4u)] = word; }
