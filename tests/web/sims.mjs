// Simulations in whatever runs JavaScript. Functions without anything around them, so that a page's tests can hand them to a browser as text.

/** A ball that is thrown, pushed by its gene and by data. */
export const THROWN = `override GRAVITY: f32 = 9.8;
const GENES = 1;
struct State { at: vec2f, v: vec2f, bounces: u32 }
fn init(i: u32, rng: ptr<function, Rng>) -> State { return State(vec2f(0.0, 1.0), vec2f(gene(0u), random(rng)), 0u); }
fn step(s: State, t: u32) -> State {
    var n = s;
    n.v.y -= 0.01 * GRAVITY * data(t % data_rows(), 0u);
    n.at += 0.01 * n.v;
    if (n.at.y < 0.0) { n.at.y = -n.at.y; n.v.y = -0.9 * n.v.y; n.bounces++; }
    return n;
}
fn score(s: State) -> f32 { return s.at.x; }
`;
export const DATA = [[1], [2], [0.5]];

/** @returns what there is to say of it, as plain values: the fused form beside a dispatch for each step. */
export async function both(solo, source, options) {
    const seen = [], fused = await solo.simulate(source, { ...options, onProgress: ({ what, done, total }) => seen.push([what, done, total]) });
    const each = await solo.simulate(source, { ...options, fuse: "none" });
    const bits = ({ scores, states, trace }) => JSON.stringify([[...new Uint32Array(scores.buffer)], states, trace]);
    return { same: bits(fused) === bits(each), scores: [...fused.scores], members: Object.keys(fused.states), trace: fused.trace?.map(({ t, states }) => [t, states["at.y"]?.length]),
        dispatches: [fused.dispatches, each.dispatches], last: seen.at(-1), notice: fused.notice };
}

export async function whyNot(solo, source, options) {
    try {
        await solo.simulate(source, options);
    } catch ({ message, usage, lost }) {
        return { message, usage, lost };
    }
    return {};
}
