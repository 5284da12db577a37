// To look at instead of to measure: one world of points, moved by many dispatches beside one. Both get the GPU by turns, for
// the same time; how far each picture comes is how fast it is. What one makes is compared with what the other makes.
import { short } from "./format.js";

const $ = (id) => document.getElementById(id);
const POINTS = 2048, STEPS = 1024, LONGEST_MS = 120_000;
const WORLD = `// Lorenz' weather: three numbers that follow each other around, and never come back to where they were.
const GENES = 3; // where a point begins
const DT = 1e-5;
struct State { at: vec3f }
fn init() -> State { return State(vec3f(gene(0u), gene(1u), gene(2u))); }
fn step(s: State) -> State {
    let p = s.at;
    return State(p + DT * vec3f(10.0 * (p.y - p.x), p.x * (28.0 - p.z) - p.y, p.x * p.y - 8.0 / 3.0 * p.z));
}
fn score(s: State) -> f32 { return s.at.z; }
`;
const RECENT = 15, LOW = 3, HIGH = 11; // of so many times, those between which their median lies with 96%

/** The median of the last times, and between what it lies; null while there are too few. */
export function typical(times) {
    if (times.length < RECENT) return null;
    const sorted = times.slice(-RECENT).sort((a, b) => a - b);
    return { median: sorted[(RECENT - 1) / 2], lo: sorted[LOW], hi: sorted[HIGH] };
}

/** What can be said about the two, by what their runs took. */
export function verdict(many, one) {
    const a = typical(many), b = typical(one);
    if (!a || !b) return "";
    const least = a.lo / b.hi, most = a.hi / b.lo;
    if (least <= 1 && most >= 1) return "Which of the two is faster cannot be told: their times overlap.";
    const times = least > 1 ? [least, most] : [1 / most, 1 / least];
    return `One dispatch is ${short(times[0])} to ${short(times[1])} times as ${least > 1 ? "fast" : "slow"} here.`;
}

/** The bits of what a run left, as one number. */
function hashOf(numbers) {
    let hash = 2166136261;
    for (const word of new Uint32Array(numbers.buffer)) hash = Math.imul(hash ^ word, 16777619);
    return hash;
}

/** Where everyone begins: in a box, the same each time. */
function beginning() {
    let x = 1;
    return Float32Array.from({ length: 3 * POINTS }, (_, i) => {
        x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
        return (x / 2 ** 32 - 0.5) * 40 + (i % 3 === 2 ? 25 : 0);
    });
}

/** One of the two: its picture, how far it is, and what its runs took. */
class Side {
    constructor(id, fuse) {
        Object.assign(this, { fuse, canvas: $(`live-${id}`), facts: $(`live-${id}-facts`) });
        this.begin();
    }

    begin() {
        Object.assign(this, { at: beginning(), frame: 0, used: 0, times: [], isDrawn: true });
        this.facts.textContent = "";
        const { canvas } = this, scale = Math.min(devicePixelRatio, 2);
        canvas.width = Math.round(canvas.clientWidth * scale);
        canvas.height = Math.round(canvas.clientHeight * scale);
    }

    /** STEPS on. @returns the hash of where everyone is */
    async run(world) {
        const { states, seconds } = await world.run({ genomes: this.at, fuse: this.fuse });
        const members = ["at.x", "at.y", "at.z"].map((name) => states[name]);
        this.at = Float32Array.from({ length: 3 * POINTS }, (_, i) => members[i % 3][Math.floor(i / 3)]);
        if (this.frame++) { // the first one compiles
            this.used += seconds;
            this.times.push(seconds);
        }
        this.isDrawn = false;
        return hashOf(this.at);
    }

    /** Points leave a trail, and the world turns as it goes on. */
    draw() {
        if (this.isDrawn) return;
        this.isDrawn = true;
        const { canvas, at } = this, { width, height } = canvas, to = canvas.getContext("2d"), { color, backgroundColor } = getComputedStyle(canvas);
        const unit = Math.min(width / 68, height / 54), size = Math.max(1, width / 360), turn = 0.004 * this.frame, cos = Math.cos(turn) * unit, sin = Math.sin(turn) * unit;
        to.globalAlpha = 0.2;
        to.fillStyle = backgroundColor;
        to.fillRect(0, 0, width, height);
        to.globalAlpha = 0.7;
        to.fillStyle = color;
        for (let i = 0; i < at.length; i += 3) to.fillRect(width / 2 + at[i] * cos + at[i + 1] * sin, height - unit * (at[i + 2] + 1), size, size);
    }

    say() {
        const time = typical(this.times);
        this.facts.textContent = time ? `${short(time.median * 1000)} ms for ${STEPS} steps; ${this.frame} pictures` : `${this.frame} pictures`;
    }
}

export function startLive(page) {
    const many = new Side("many", "none"), one = new Side("one", "loop");
    let running = false;

    /** Until it is stopped: whoever had the GPU for less time is next. */
    async function race(world) {
        const seen = new Map(), began = performance.now(); // frames of the faster, until the other has made them, too
        let same = 0;
        while (running && performance.now() - began < LONGEST_MS) {
            const side = many.used <= one.used ? many : one, hash = await side.run(world);
            if (!seen.has(side.frame)) seen.set(side.frame, hash);
            else if (seen.get(side.frame) !== hash) throw new Error(`many dispatches and one differ in picture ${side.frame}`);
            else {
                seen.delete(side.frame);
                same++;
            }
            $("live-same").textContent = `${same} pictures compared: bit for bit the same.`;
        }
    }

    async function look() {
        running = page.busy = true;
        page.calm();
        $("live-start").hidden = true;
        $("live").hidden = $("live-stop").hidden = false;
        $("live-verdict").textContent = $("live-same").textContent = "";
        for (const side of [many, one]) side.begin();
        const picture = () => {
            for (const side of [many, one]) side.draw();
            if (running) requestAnimationFrame(picture);
        };
        const said = setInterval(() => {
            for (const side of [many, one]) side.say();
            $("live-now").textContent = verdict(many.times, one.times);
        }, 500);
        let world = null;
        requestAnimationFrame(picture);
        const { solo } = page;
        try {
            world = await solo.prepareSimulation(WORLD, { name: "live.wgsl", population: POINTS, steps: STEPS, chunkMs: 0 });
            await race(world);
            $("live-verdict").textContent = verdict(many.times, one.times);
        } catch (error) {
            if (page.solo === solo) page.trouble(error, error.usage ? null : page.recover);
        } finally {
            clearInterval(said);
            running = false;
            picture();
            await world?.close().catch(() => {});
            if (page.solo === solo) page.busy = false; // else it is the next Solo's
            $("live-now").textContent = "";
            const isFocused = document.activeElement === $("live-stop");
            $("live-start").hidden = false;
            if (isFocused) $("live-start").focus();
            $("live-stop").hidden = true;
        }
    }

    const stop = () => (running = false);
    $("live-start").onclick = async () => {
        if (page.busy || !(page.solo || (await page.needGpu()))) return;
        await look();
    };
    $("live-stop").onclick = stop;
    addEventListener("hashchange", stop);
    document.addEventListener("visibilitychange", () => document.hidden && stop());
}
