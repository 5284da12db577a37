// CartPole-v1: a pole on a cart, pushed left (0) or right (1).
const OBSERVATION = 4;
const ACTIONS = 2;
const EPISODE = 500;

const GRAVITY = 9.8;
const POLE_MASS = 0.1;
const TOTAL_MASS = 1.1;
const HALF_LENGTH = 0.5;
const FORCE = 10.0;
const TAU = 0.02; // seconds from one step to the next

struct World {
    x: f32, v: f32,        // the cart
    angle: f32, spin: f32, // the pole, from upright
}

fn reset(rng: ptr<function, Rng>) -> World {
    return World(0.1 * random(rng) - 0.05, 0.1 * random(rng) - 0.05, 0.1 * random(rng) - 0.05, 0.1 * random(rng) - 0.05);
}

fn act(w: World, action: u32, rng: ptr<function, Rng>) -> World {
    let force = select(-FORCE, FORCE, action == 1u);
    let sine = sin(w.angle);
    let cosine = cos(w.angle);
    let pushed = (force + POLE_MASS * HALF_LENGTH * w.spin * w.spin * sine) / TOTAL_MASS;
    let turning = (GRAVITY * sine - cosine * pushed) /
                  (HALF_LENGTH * (4.0 / 3.0 - POLE_MASS * cosine * cosine / TOTAL_MASS));
    let pushing = pushed - POLE_MASS * HALF_LENGTH * turning * cosine / TOTAL_MASS;
    return World(w.x + TAU * w.v, w.v + TAU * pushing, w.angle + TAU * w.spin, w.spin + TAU * turning);
}

fn observe(w: World) -> array<f32, OBSERVATION> { return array<f32, OBSERVATION>(w.x, w.v, w.angle, w.spin); }

fn reward(before: World, after: World) -> f32 { return 1.0; }

fn ended(w: World) -> bool { return abs(w.x) > 2.4 || abs(w.angle) > 0.20943951; } // 12 degrees
