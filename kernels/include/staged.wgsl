// What the threads of a workgroup have for each other, x above all, as bits: the kernels of one dispatch share this memory. It is read
// in lines of four words, whose firsts lie side by side, then their seconds, and so on: neighbours ask for neighbouring words. (Not as
// vectors: who writes a component of one may write the others again. And not as one array: where bounds are checked, a line's words would have
// four places to check.)
const STAGED_LEAST = 2048u;
const STAGED = STAGED_LEAST; // words, at least
const APART_OF_STAGED = (STAGED / 4u + 23u) / 32u * 32u + 8u; // at least a quarter, and the words of a line are in banks of their own
var<workgroup> staged: array<array<u32, APART_OF_STAGED>, 4>;
fn staged_words(line: u32) -> vec4<u32> { return vec4<u32>(staged[0][line], staged[1][line], staged[2][line], staged[3][line]); }
fn staged_four(line: u32) -> vec4<f32> { return bitcast<vec4<f32>>(staged_words(line)); }
fn staged_two(pair: u32) -> vec2<f32> { return bitcast<vec2<f32>>(vec2<u32>(staged[pair % 2u * 2u][pair / 2u], staged[pair % 2u * 2u + 1u][pair / 2u])); }
fn stage_four(line: u32, value: vec4<f32>) {
    let words = bitcast<vec4<u32>>(value);
    staged[0][line] = words.x;
    staged[1][line] = words.y;
    staged[2][line] = words.z;
    staged[3][line] = words.w;
}
// The same as one list.
fn staged_word(i: u32) -> u32 { return staged[i / (STAGED_LEAST / 4u)][i % (STAGED_LEAST / 4u)]; }
fn stage_word(i: u32, word: u32) { staged[i / (STAGED_LEAST / 4u)][i % (STAGED_LEAST / 4u)] = word; }
