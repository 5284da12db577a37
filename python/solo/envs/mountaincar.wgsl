// MountainCar-v0: an engine too weak for the hill: back (0), nothing (1), forward (2).
const OBSERVATION = 2;
const ACTIONS = 3;
const EPISODE = 200;

struct World { x: f32, v: f32 }

fn reset(rng: ptr<function, Rng>) -> World { return World(0.2 * random(rng) - 0.6, 0.0); }

fn act(w: World, action: u32, rng: ptr<function, Rng>) -> World {
    var v = clamp(w.v + (f32(action) - 1.0) * 0.001 - 0.0025 * cos(3.0 * w.x), -0.07, 0.07);
    let x = clamp(w.x + v, -1.2, 0.6);
    if (x == -1.2 && v < 0.0) { v = 0.0; }
    return World(x, v);
}

fn observe(w: World) -> array<f32, OBSERVATION> { return array<f32, OBSERVATION>(w.x, w.v); }

fn reward(before: World, after: World) -> f32 { return -1.0; }

fn ended(w: World) -> bool { return w.x >= 0.5; }
