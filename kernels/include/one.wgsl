// Many phases in one dispatch of one workgroup, which any device runs: what graph.wgsl is for a dispatch each. The table
// `arguments` has the words of all phases.
@group(0) @binding(0) var<storage, read> arguments: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> activations: array<u32>;
@group(0) @binding(3) var<storage, read_write> states: array<u32>;
@group(0) @binding(4) var<storage, read> weight_words: array<u32>;
@group(0) @binding(5) var<uniform> course: vec4<u32>; // phases, how often

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) local: u32) {
    for (var round = 0u; round < course.y; round++) {
        for (var phase = 0u; phase < course.x; phase++) {
            let args = phase * PHASE_WORDS;
            let kind = arg(args, KIND_WORD);
            for (var v = 0u; v < arg(args, 0u); v++) {
                body_of(kind, args, v, local);
                workgroupBarrier(); // workgroup memory is everyone's
            }
            storageBarrier();
        }
    }
}
