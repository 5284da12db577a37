// Pendulum-v1: a pendulum that is to be swung upright and held there by a torque of -2 to 2.
const OBSERVATION = 3;
const ACTION = 1;
const ACTION_LOW = -2.0;
const ACTION_HIGH = 2.0;
const EPISODE = 200;

const PI = 3.14159265;
const DT = 0.05;

struct World {
    angle: f32, // from upright
    spin: f32,
    cost: f32,  // of the last step
}

fn reset(rng: ptr<function, Rng>) -> World {
    return World(PI * (2.0 * random(rng) - 1.0), 2.0 * random(rng) - 1.0, 0.0);
}

fn act(w: World, action: array<f32, ACTION>, rng: ptr<function, Rng>) -> World {
    let torque = clamp(action[0], ACTION_LOW, ACTION_HIGH);
    let turns = (w.angle + PI) / (2.0 * PI);
    let bent = (turns - floor(turns)) * 2.0 * PI - PI; // the same angle, from -PI to PI
    let spin = clamp(w.spin + (15.0 * sin(w.angle) + 3.0 * torque) * DT, -8.0, 8.0);
    return World(w.angle + spin * DT, spin, bent * bent + 0.1 * w.spin * w.spin + 0.001 * torque * torque);
}

fn observe(w: World) -> array<f32, OBSERVATION> {
    return array<f32, OBSERVATION>(cos(w.angle), sin(w.angle), w.spin);
}

fn reward(before: World, after: World) -> f32 { return -after.cost; }

fn ended(w: World) -> bool { return false; }
