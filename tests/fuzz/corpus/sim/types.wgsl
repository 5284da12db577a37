/* a /* nested */ comment */ const N = 2u + 1;
override M: u32 = N * 2;
override G: f32 = -1.5e1;
const GENES = N; const GENE_LOW = -G; const GENE_HIGH = 20.0;
struct Part { turn: vec2f, on: u32 }
struct State { @align(16) x: f32, parts: array<Part, 2>, far: array<array<i32, N>, 2 * (M - 2)>, at: vec3<f32>, }
fn init(rng: ptr<function, Rng>) -> State { var s: State; return s; }
fn step(s: State, t: u32, i: u32) -> State { return other(0u); }
fn score(s: State) -> f32 { return gene(0u) + data(1u, 0u); }
fn done(s: State) -> bool { return false; }
