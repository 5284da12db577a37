// What every kernel of a graph has: its arguments, the memory it works on, and its entry point as a dispatch of its
// own. The kernel declares THREADS, the threads of a workgroup, before it includes this file, and defines `body(args,
// v, local)`, the work of thread `local` of virtual workgroup v. In a megakernel this file's functions are replaced by
// those of megakernel.wgsl.
//
// Activations are 32-bit words, f32 or u32, in one buffer; arguments say where a tensor begins. Weights keep the type
// that they have in the model's file (weight.wgsl).
@group(0) @binding(0) var<uniform> arguments: array<vec4<u32>, 32>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> activations: array<u32>;
@group(0) @binding(3) var<storage, read_write> states: array<u32>;
@group(0) @binding(4) var<storage, read> weight_words: array<u32>; // the same buffer as `weights`

// Argument i, by its name in kernels/args.txt; `args` is where the arguments begin.
fn arg(args: u32, i: u32) -> u32 { return arguments[(args + i) / 4u][(args + i) % 4u]; }
fn arg_float(args: u32, i: u32) -> f32 { return bitcast<f32>(arg(args, i)); }

// 1: as little code as possible, although it runs slower: for software, which takes longer to compile than to run.
override COMPACT = 0u;
// Hides a loop's bound from such a compiler, so that it does not unroll the loop: there are never 2^31 workgroups.
fn at_run_time(value: u32) -> u32 {
    if (COMPACT == 0u) { return value; }
    return value + (arguments[0].x >> 31u);
}

// 1: the lowest bit of a float does not count. In a megakernel it is the epoch bit, which says in which round the float
// was written (megakernel_atomic.wgsl); elsewhere it is 0, so that all fusion levels compute the same numbers.
override EPOCH_BIT = 0u;
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits & ~EPOCH_BIT); }
fn load(i: u32) -> f32 { return float_of(activations[i]); }
fn store(i: u32, value: f32) { activations[i] = bitcast<u32>(value) & ~EPOCH_BIT; }
// For threads that wait until a float has this round's epoch bit, which only happens in a megakernel: a float as it
// lies in memory; 1 if it is still that of the round before; whether to read it again.
fn bits_at(i: u32) -> u32 { return activations[i]; }
fn is_stale(bits: u32) -> u32 { return 0u; }
fn keep_spinning(spins: u32) -> bool { return false; }
// Every loop of a kernel for GPUs that waits has a bound like this one. Where loops must be finite, as in browsers, a
// compiler sees that a loop ends if it counts by ones up or down to a constant; into all others it puts a counter.
const MAX_SPINS = 0xffffffffu;
// Two floats as f16 in a word, as if they had been stored and loaded again.
const LARGEST_HALF = vec2<f32>(65504.0);
fn halves_of(y: vec2<f32>) -> u32 { return pack2x16float(clamp(y, -LARGEST_HALF, LARGEST_HALF)); }
fn halves_to_store(y: vec2<f32>) -> u32 {
    return halves_of(vec2<f32>(float_of(bitcast<u32>(y.x)), float_of(bitcast<u32>(y.y))));
}
fn load_word(i: u32) -> u32 { return activations[i]; }
fn store_word(i: u32, value: u32) { activations[i] = value; }

// States (a KV cache) are in a buffer of their own: f32, or two f16 to a word.
fn state_word(i: u32) -> u32 { return states[i]; }
fn store_state_word(i: u32, value: u32) { states[i] = value; }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let v = group.x + group.y * groups.x;
    if (v < arg(0u, ARG_GROUPS)) { body(0u, v, local); }
}
