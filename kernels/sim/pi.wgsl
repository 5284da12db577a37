// Pi by throwing darts: each individual throws one a step into the unit square. The mean score is pi.
const POPULATION = 4096;
const STEPS = 1000;

struct State { inside: u32, thrown: u32 }

fn init() -> State { return State(0u, 0u); }

fn step(s: State, rng: ptr<function, Rng>) -> State {
    let x = random(rng);
    let y = random(rng);
    return State(s.inside + u32(x * x + y * y < 1.0), s.thrown + 1u);
}

fn score(s: State) -> f32 { return 4.0 * f32(s.inside) / f32(max(s.thrown, 1u)); }
