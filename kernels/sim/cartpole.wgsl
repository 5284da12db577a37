// CartPole-v1: a pole on a cart, pushed left or right by a recurrent network of 4 inputs, 8 units and 2 outputs, whose
// weights are the genes. The score is for how many steps the pole stood.
const POPULATION = 4096;
const STEPS = 500;

const UNITS = 8u;
const GENES = 4 * UNITS + UNITS * UNITS + UNITS + 2 * UNITS + 2;

const GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = 1.1;
const HALF_LENGTH = 0.5;
const FORCE = 10.0;
const TAU = 0.02; // seconds from one step to the next

struct State {
    x: f32, v: f32,           // the cart
    angle: f32, spin: f32,    // the pole, from upright
    hidden: array<f32, UNITS>,
    action: u32,              // the last one: 0 left, 1 right
    steps: u32,
    fallen: u32,
}

fn init(rng: ptr<function, Rng>) -> State {
    var s: State;
    s.x = 0.1 * random(rng) - 0.05;
    s.v = 0.1 * random(rng) - 0.05;
    s.angle = 0.1 * random(rng) - 0.05;
    s.spin = 0.1 * random(rng) - 0.05;
    return s;
}

// Genes in this order: inputs to units, units to units, biases, units to outputs, biases.
fn think(s: ptr<function, State>) -> u32 {
    let input = array<f32, 4>((*s).x, (*s).v, (*s).angle, (*s).spin);
    let before = (*s).hidden;
    var old = before;
    var seen = input;
    for (var u = 0u; u < UNITS; u++) {
        var sum = gene(4u * UNITS + UNITS * UNITS + u);
        for (var k = 0u; k < 4u; k++) { sum += gene(u * 4u + k) * seen[k]; }
        for (var k = 0u; k < UNITS; k++) { sum += gene(4u * UNITS + u * UNITS + k) * old[k]; }
        (*s).hidden[u] = fast_tanh(sum);
    }
    const OUT = 4u * UNITS + UNITS * UNITS + UNITS;
    var left = gene(OUT + 2u * UNITS);
    var right = gene(OUT + 2u * UNITS + 1u);
    for (var u = 0u; u < UNITS; u++) {
        left += gene(OUT + u) * (*s).hidden[u];
        right += gene(OUT + UNITS + u) * (*s).hidden[u];
    }
    return select(0u, 1u, right > left);
}

fn step(before: State) -> State {
    var s = before;
    s.action = think(&s);
    let force = select(-FORCE, FORCE, s.action == 1u);
    let sine = sin(s.angle);
    let cosine = cos(s.angle);
    let pushed = (force + POLE_MASS * HALF_LENGTH * s.spin * s.spin * sine) / TOTAL_MASS;
    let turning = (GRAVITY * sine - cosine * pushed) /
                  (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cosine * cosine / TOTAL_MASS));
    let pushing = pushed - POLE_MASS * HALF_LENGTH * turning * cosine / TOTAL_MASS;
    s.x += TAU * s.v;
    s.v += TAU * pushing;
    s.angle += TAU * s.spin;
    s.spin += TAU * turning;
    s.steps += 1u;
    s.fallen = u32(abs(s.x) > 2.4 || abs(s.angle) > 0.20943951); // 12 degrees
    return s;
}

fn done(s: State) -> bool { return s.fallen != 0u; }

fn score(s: State) -> f32 { return f32(s.steps); }
