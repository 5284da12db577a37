// What every operator of a graph has: its arguments, the memory it works on, and
// how it is launched. An operator gives `body(v, local)`, the work of virtual
// workgroup v; argument 0 is always how many of those there are. It says before
// how many THREADS a workgroup has.
//
// Activations are 32-bit words, floats or whole numbers, in one arena; arguments
// say where. Weights keep the type they have in the file (weight.wgsl).
@group(0) @binding(0) var<uniform> arguments: array<vec4<u32>, 32>;
@group(0) @binding(1) var<storage, read> weights: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> activations: array<u32>;
@group(0) @binding(3) var<storage, read_write> states: array<u32>;
@group(0) @binding(4) var<storage, read> weight_words: array<u32>; // the same as `weights`

fn arg(args: u32, i: u32) -> u32 { return arguments[(args + i) / 4u][(args + i) % 4u]; }
fn arg_float(args: u32, i: u32) -> f32 { return bitcast<f32>(arg(args, i)); }

// 1: code as short as can be, although it runs slower: for compilers that take longer than the code runs.
override COMPACT = 0u;
// From them it is also hidden how often some loops go round, so that they are not written out: there are never 2^31 workgroups.
fn at_run_time(value: u32) -> u32 {
    if (COMPACT == 0u) { return value; }
    return value + (arguments[0].x >> 31u);
}

// 1: the lowest bit of a float does not count. In one dispatch it says in which round the float was written (megakernel_atomic.wgsl);
// everywhere else it is 0, so that all ways to run a graph make the same numbers.
override EPOCH_BIT = 0u;
fn float_of(bits: u32) -> f32 { return bitcast<f32>(bits & ~EPOCH_BIT); }
fn load(i: u32) -> f32 { return float_of(activations[i]); }
fn store(i: u32, value: f32) { activations[i] = bitcast<u32>(value) & ~EPOCH_BIT; }
// A float as it lies there; 1 if it is not yet the one that is wanted; whether to look again.
fn bits_at(i: u32) -> u32 { return activations[i]; }
fn is_stale(bits: u32) -> u32 { return 0u; }
fn keep_spinning(spins: u32) -> bool { return false; }
// No loop of a kernel for GPUs goes on without a number like this: where bounds are checked, as in browsers, compilers see the end of those
// that go by ones, up to a constant or down to one, and have all others count their turns.
const MAX_SPINS = 0xffffffffu;
fn load_word(i: u32) -> u32 { return activations[i]; }
fn store_word(i: u32, value: u32) { activations[i] = value; }

// A state is an arena of its own, in f32 or packed f16.
fn state_word(i: u32) -> u32 { return states[i]; }
fn store_state_word(i: u32, value: u32) { states[i] = value; }

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let v = group.x + group.y * groups.x;
    if (v < arg(0u, ARG_GROUPS)) { body(0u, v, local); }
}
