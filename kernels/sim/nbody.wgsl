// Bodies that attract each other: all pairs, softened, a disc that turns. Everyone sees where all others were before
// the step. The score is a body's energy: kinetic, and half of what it has with all others.
const POPULATION = 512;
const STEPS = 200;

override DT: f32 = 0.002;
override SOFTENING: f32 = 0.05;

struct State {
    place: vec3<f32>,
    mass: f32,
    speed: vec3<f32>,
    potential: f32, // with all others, before the last step
}

fn init(rng: ptr<function, Rng>) -> State {
    var s: State;
    let radius = 0.2 + 0.8 * sqrt(random(rng));
    let angle = 6.2831853 * random(rng);
    s.mass = 1.0 / f32(population());
    s.place = vec3(radius * cos(angle), radius * sin(angle), 0.1 * random(rng) - 0.05);
    s.speed = vec3(-sin(angle), cos(angle), 0.0) * sqrt(radius);
    return s;
}

fn step(before: State, i: u32) -> State {
    var s = before;
    var pull = vec3(0.0);
    var potential = 0.0;
    for (var j = 0u; j < population(); j++) {
        let away = other_place(j) - s.place;
        let near = inverseSqrt(dot(away, away) + SOFTENING * SOFTENING);
        let mass = other_mass(j);
        pull += mass * near * near * near * away;
        potential -= select(mass * near, 0.0, j == i);
    }
    s.potential = s.mass * potential;
    s.speed += DT * pull;
    s.place += DT * s.speed;
    return s;
}

fn score(s: State) -> f32 { return 0.5 * s.mass * dot(s.speed, s.speed) + 0.5 * s.potential; }
