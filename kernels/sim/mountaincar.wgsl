// MountainCar-v0: an engine too weak for the hill, driven by a recurrent network of 2 inputs, 8 units and 3 outputs.
// The score is that of the game, -1 for each step, and how high the car came where it did not get there, so that some
// are better.
const POPULATION = 4096;
const STEPS = 200;

const UNITS = 8u;
const GENES = 2 * UNITS + UNITS * UNITS + UNITS + 3 * UNITS + 3;

struct State {
    x: f32, v: f32,
    hidden: array<f32, UNITS>,
    highest: f32,
    action: u32, // the last one: 0 back, 1 nothing, 2 forward
    steps: u32,
    arrived: u32,
}

fn init(rng: ptr<function, Rng>) -> State {
    var s: State;
    s.x = 0.2 * random(rng) - 0.6;
    s.highest = s.x;
    return s;
}

// Genes in this order: inputs to units, units to units, biases, units to outputs, biases.
fn think(s: ptr<function, State>) -> u32 {
    var old = (*s).hidden;
    for (var u = 0u; u < UNITS; u++) {
        var sum = gene(2u * UNITS + UNITS * UNITS + u) + gene(u * 2u) * (*s).x + gene(u * 2u + 1u) * 20.0 * (*s).v;
        for (var k = 0u; k < UNITS; k++) { sum += gene(2u * UNITS + u * UNITS + k) * old[k]; }
        (*s).hidden[u] = fast_tanh(sum);
    }
    const OUT = 2u * UNITS + UNITS * UNITS + UNITS;
    var best = 0u;
    var most = -1e30;
    for (var a = 0u; a < 3u; a++) {
        var sum = gene(OUT + 3u * UNITS + a);
        for (var u = 0u; u < UNITS; u++) { sum += gene(OUT + a * UNITS + u) * (*s).hidden[u]; }
        if (sum > most) { most = sum; best = a; }
    }
    return best;
}

fn step(before: State) -> State {
    var s = before;
    s.action = think(&s);
    s.v += (f32(s.action) - 1.0) * 0.001 - 0.0025 * cos(3.0 * s.x);
    s.v = clamp(s.v, -0.07, 0.07);
    s.x = clamp(s.x + s.v, -1.2, 0.6);
    if (s.x == -1.2 && s.v < 0.0) { s.v = 0.0; }
    s.highest = max(s.highest, s.x);
    s.steps += 1u;
    s.arrived = u32(s.x >= 0.5);
    return s;
}

fn done(s: State) -> bool { return s.arrived != 0u; }

fn score(s: State) -> f32 { return -f32(s.steps) + select(min(s.highest, 0.5) - 0.5, 0.0, s.arrived != 0u); }
