// What every operator of a graph has: its arguments, the memory it works on, and
// how it is launched. An operator gives `body(v, local)`, the work of virtual
// workgroup v; argument 0 is always how many of those there are.
//
// Activations are 32-bit words, floats or whole numbers, in one arena; arguments
// say where. Weights keep the type they have in the file.
const THREADS = 64u;

@group(0) @binding(0) var<uniform> arguments: array<vec4<u32>, 8>;
@group(0) @binding(1) var<storage, read> weights: array<u32>;
@group(0) @binding(2) var<storage, read_write> activations: array<u32>;
@group(0) @binding(3) var<storage, read_write> states: array<u32>;

fn arg(i: u32) -> u32 { return arguments[i / 4u][i % 4u]; }
fn arg_float(i: u32) -> f32 { return bitcast<f32>(arg(i)); }

fn load(i: u32) -> f32 { return bitcast<f32>(activations[i]); }
fn store(i: u32, value: f32) { activations[i] = bitcast<u32>(value); }
fn load_word(i: u32) -> u32 { return activations[i]; }

// A state is an arena of its own, in f32 or packed f16 (`half`).
fn load_state(i: u32, half: u32) -> f32 {
    if (half == 0u) { return bitcast<f32>(states[i]); }
    return unpack2x16float(states[i / 2u])[i % 2u];
}

var<workgroup> shared_words: array<f32, THREADS>;

fn sum_of_all(value: f32, local: u32) -> f32 {
    shared_words[local] = value;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if (local < half) { shared_words[local] += shared_words[local + half]; }
        workgroupBarrier();
    }
    let total = shared_words[0];
    workgroupBarrier();
    return total;
}

fn max_of_all(value: f32, local: u32) -> f32 {
    shared_words[local] = value;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if (local < half) { shared_words[local] = max(shared_words[local], shared_words[local + half]); }
        workgroupBarrier();
    }
    let most = shared_words[0];
    workgroupBarrier();
    return most;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) local: u32) {
    let v = group.x + group.y * groups.x;
    if (v < arg(0)) { body(v, local); }
}
