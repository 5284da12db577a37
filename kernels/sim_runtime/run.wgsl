// The parameters of a dispatch and its memory, at all levels. src/sim/text.c generates the rest for the user's file:
// solo_load and solo_store (a State from and to memory), solo_sealed; solo_begin, solo_next, solo_ends and solo_score,
// which call the file's functions with the parameters they declare; and solo_is, which sets the current individual.
struct solo_sim_params {
    launch: solo_launch_params,
    population: u32,
    step: u32,        // the first step of this dispatch
    steps: u32,       // how many it makes
    begins: u32,      // 1: states are made first; 0: they are in memory
    scores: u32,      // 1: compute scores at the end
    seed: u32,
    generation: u32,
    generations: u32, // how many this dispatch makes
    trace_count: u32, // individuals that leave a trace
    trace_every: u32, // steps from one entry to the next
    tournament: u32,
    elite: u32,
    crossover: f32,   // how likely a child has two parents
    mutation: f32,    // how likely a gene changes
    sigma: f32,       // by how much
    total: u32,       // all steps of the simulation
}
@group(0) @binding(0) var<uniform> solo_params: solo_sim_params;
@group(0) @binding(3) var<storage, read> solo_data: array<f32>;
@group(0) @binding(4) var<storage, read_write> solo_genomes: array<f32>; // gene k of individual i: k * population + i
@group(0) @binding(5) var<storage, read_write> solo_traced: array<u32>;
// Words of the grid barrier (include/persistent.wgsl), then reports to the host.
@group(0) @binding(6) var<storage, read_write> solo_grid: array<atomic<u32>>;
const SOLO_NOT_FINITE = 8u; // the generation and the individual of a score that is not finite (generations.wgsl)
const SOLO_NO_ROW = 12u;    // a row of the data, a gene, an individual out of range that a step read
const SOLO_NO_GENE = 13u;
const SOLO_NO_OTHER = 14u;

fn population() -> u32 { return solo_params.population; }
fn steps() -> u32 { return solo_params.total; }

var<private> solo_passed: u32; // generations made in this dispatch before the one at hand

fn solo_rng(i: u32, t: u32) -> Rng {
    let seed = solo_params.seed + (solo_params.generation + solo_passed) * 0x9e3779b9u;
    return Rng(vec2(seed, i), vec2(t, 0u), 0u, false);
}

// Of two generations, by their parity.
fn solo_score_place(i: u32) -> u32 {
    return ((solo_params.generation + solo_passed) & 1u) * solo_params.population + i;
}

// By one exponential, to 2e-7: tanh() takes several times as long on some GPUs.
fn fast_tanh(x: f32) -> f32 { return 1.0 - 2.0 / (1.0 + exp(2.0 * x)); }

fn solo_score_of(at: u32) -> f32 { return bitcast<f32>(solo_scores_load(at)); }
fn solo_set_score(at: u32, value: f32) { solo_scores_store(at, bitcast<u32>(value)); }
fn solo_shared_gene(at: u32) -> f32 { return bitcast<f32>(solo_shared_load(at)); }
fn solo_share_gene(at: u32, value: f32) { solo_shared_store(at, bitcast<u32>(value)); }
