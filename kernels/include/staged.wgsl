// What the threads of a workgroup have for each other, x above all, as bits: the kernels of one dispatch share this memory. It is read
// in lines of four words, whose firsts lie side by side, then their seconds, and so on: neighbours ask for neighbouring words. (Not as
// vectors: who writes a component of one may write the others again.)
const STAGED = 2048u; // words, at least
const APART_OF_STAGED = (STAGED / 4u + 23u) / 32u * 32u + 8u; // at least a quarter, and the words of a line are in banks of their own
var<workgroup> staged: array<u32, 4u * APART_OF_STAGED>;
fn staged_at(line: u32, i: u32) -> u32 { return i * APART_OF_STAGED + line; }
fn staged_words(line: u32) -> vec4<u32> {
    return vec4<u32>(staged[staged_at(line, 0u)], staged[staged_at(line, 1u)], staged[staged_at(line, 2u)], staged[staged_at(line, 3u)]);
}
fn staged_four(line: u32) -> vec4<f32> { return bitcast<vec4<f32>>(staged_words(line)); }
fn staged_two(pair: u32) -> vec2<f32> {
    return bitcast<vec2<f32>>(vec2<u32>(staged[staged_at(pair / 2u, pair % 2u * 2u)], staged[staged_at(pair / 2u, pair % 2u * 2u + 1u)]));
}
fn stage_four(line: u32, value: vec4<f32>) {
    let words = bitcast<vec4<u32>>(value);
    staged[staged_at(line, 0u)] = words.x;
    staged[staged_at(line, 1u)] = words.y;
    staged[staged_at(line, 2u)] = words.z;
    staged[staged_at(line, 3u)] = words.w;
}
