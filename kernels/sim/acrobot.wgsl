// Acrobot-v1: two links that hang from a pivot, moved by a motor at the joint between them, by a network of 6 inputs,
// 16 units and 3 outputs (163 genes). A step is one of Runge and Kutta's, of fourth order, as in the game. The score
// is the game's: -1 for each step until the end of the lower link is one link above the pivot.
const POPULATION = 4096;
const STEPS = 500;

const UNITS = 16u;
const GENES = 6 * UNITS + UNITS + 3 * UNITS + 3;

const PI = 3.14159265;
const DT = 0.2;

struct State {
    angle: vec2<f32>,  // of the upper link, from hanging down; of the lower one, from the upper
    spin: vec2<f32>,
    action: u32,       // the last one: the torque is action - 1
    steps: u32,
    arrived: u32,
}

fn init(rng: ptr<function, Rng>) -> State {
    var s: State;
    s.angle = vec2(0.2 * random(rng) - 0.1, 0.2 * random(rng) - 0.1);
    s.spin = vec2(0.2 * random(rng) - 0.1, 0.2 * random(rng) - 0.1);
    return s;
}

// Genes in this order: inputs to units, biases, units to outputs, biases.
fn think(s: State) -> u32 {
    var seen = array<f32, 6>(cos(s.angle.x), sin(s.angle.x), cos(s.angle.y), sin(s.angle.y), s.spin.x, s.spin.y);
    const OUT = 7u * UNITS;
    var sums = vec3(gene(OUT + 3u * UNITS), gene(OUT + 3u * UNITS + 1u), gene(OUT + 3u * UNITS + 2u));
    for (var u = 0u; u < UNITS; u++) {
        var sum = gene(6u * UNITS + u);
        for (var k = 0u; k < 6u; k++) { sum += gene(u * 6u + k) * seen[k]; }
        let unit = fast_tanh(sum);
        sums += unit * vec3(gene(OUT + u), gene(OUT + UNITS + u), gene(OUT + 2u * UNITS + u));
    }
    if (sums.x >= sums.y && sums.x >= sums.z) { return 0u; }
    return select(2u, 1u, sums.y >= sums.z);
}

// How fast angles (x, y) and spins (z, w) change. Links of length and mass 1, their centres in the middle, inertia 1.
fn change(s: vec4<f32>, torque: f32) -> vec4<f32> {
    let c = cos(s.y);
    let d1 = 0.25 + (1.25 + c) + 2.0;
    let d2 = (0.25 + 0.5 * c) + 1.0;
    let phi2 = 0.5 * 9.8 * cos(s.x + s.y - PI / 2.0);
    let phi1 = -0.5 * s.w * s.w * sin(s.y) - s.w * s.z * sin(s.y) + 1.5 * 9.8 * cos(s.x - PI / 2.0) + phi2;
    let lower = (torque + d2 / d1 * phi1 - 0.5 * s.z * s.z * sin(s.y) - phi2) / (1.25 - d2 * d2 / d1);
    return vec4(s.z, s.w, -(d2 * lower + phi1) / d1, lower);
}

fn wrapped(angle: f32) -> f32 {
    var a = angle;
    while (a > PI) { a -= 2.0 * PI; }
    while (a < -PI) { a += 2.0 * PI; }
    return a;
}

fn step(before: State) -> State {
    var s = before;
    s.action = think(s);
    let torque = f32(s.action) - 1.0;
    let y0 = vec4(s.angle, s.spin);
    let k1 = change(y0, torque);
    let k2 = change(y0 + 0.5 * DT * k1, torque);
    let k3 = change(y0 + 0.5 * DT * k2, torque);
    let k4 = change(y0 + DT * k3, torque);
    let y = y0 + DT / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4);
    s.angle = vec2(wrapped(y.x), wrapped(y.y));
    s.spin = clamp(y.zw, vec2(-4.0 * PI, -9.0 * PI), vec2(4.0 * PI, 9.0 * PI));
    s.steps += 1u;
    s.arrived = u32(-cos(s.angle.x) - cos(s.angle.y + s.angle.x) > 1.0);
    return s;
}

fn done(s: State) -> bool { return s.arrived != 0u; }

// the step that arrives costs nothing
fn score(s: State) -> f32 { return -f32(s.steps - s.arrived); }
