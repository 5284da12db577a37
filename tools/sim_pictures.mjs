// Draws the pictures of docs/sim.md from the records of bench/sim.sh:
//
//     node tools/sim_pictures.mjs results/h200/sim docs       sim-steps.svg, sim-population.svg
//
// A sweep of fewer than two points has no picture. Both axes are logarithmic.
import { writeFileSync } from "node:fs";
import { simPoints } from "./tables_sim.mjs";

const [, , folder, target] = process.argv;
if (!target) {
    console.error("usage: node tools/sim_pictures.mjs RECORDS FOLDER");
    process.exit(2);
}
const WAYS = { batch: ["#0072b2", "a dispatch for each step"], fused: ["#d55e00", "one dispatch"] };
const WIDTH = 520, HEIGHT = 350, LEFT = 62, RIGHT = 496, TOP = 84, BOTTOM = 290;
const short = (x) => (x >= 1000 && x % 1000 === 0 ? `${x / 1000}k` : `${+x.toPrecision(3)}`);
const decades = (low, high) => {
    const list = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) list.push(10 ** e);
    return list;
};

function draw(what, points, words) {
    const ms = (r) => 1e3 / r.median, values = points.flatMap((p) => [p.fused, p.batch].filter(Boolean).map(ms));
    const ticks = decades(Math.min(...values), Math.max(...values)), first = points[0].at, last = points.at(-1).at;
    const x = (v) => (LEFT + 14 + ((RIGHT - LEFT - 28) * Math.log(v / first)) / Math.log(last / first)).toFixed(1);
    const y = (v) => (BOTTOM - ((BOTTOM - TOP) * Math.log(v / ticks[0])) / Math.log(ticks.at(-1) / ticks[0])).toFixed(1);
    const parts = ticks.map((t) => `<line class="grid" x1="${LEFT}" x2="${RIGHT}" y1="${y(t)}" y2="${y(t)}"/><text x="${LEFT - 6}" y="${+y(t) + 5}" text-anchor="end" class="soft">${short(t)}</text>`);
    for (const p of points) parts.push(`<text x="${x(p.at)}" y="${BOTTOM + 22}" text-anchor="middle" class="soft">${short(p.at)}</text>`);
    let key = LEFT;
    for (const [way, [colour, name]] of Object.entries(WAYS)) {
        const there = points.filter((p) => p[way]);
        parts.push(`<polyline fill="none" stroke="${colour}" stroke-width="2.5" points="${there.map((p) => `${x(p.at)},${y(ms(p[way]))}`).join(" ")}"/>`);
        for (const p of there) parts.push(`<circle r="4" fill="${colour}" cx="${x(p.at)}" cy="${y(ms(p[way]))}"><title>${name}, ${p.at} ${what}: ${ms(p[way]).toPrecision(3)} ms</title></circle>`);
        parts.push(`<circle r="5" fill="${colour}" cx="${key + 6}" cy="64"/><text x="${key + 16}" y="69">${name}</text>`);
        key += 210;
    }
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" role="img">
<title>${words}</title>
<style>
svg { background: #fbfbfa } text { fill: #1b1b1a; font-size: 14px } .soft { fill: #5d5d5a } .head { font-size: 17px; font-weight: 650 } .grid { stroke: #dededb }
@media (prefers-color-scheme: dark) { svg { background: #161618 } text { fill: #ededea } .soft { fill: #a5a5a0 } .grid { stroke: #36363a } }
</style>
<text x="16" y="26" class="head">${words}</text>
<text x="16" y="46" class="soft">ms for ${points[0].sim}, ${points[0].other} ${what === "steps" ? "individuals" : "steps"}</text>
${parts.join("\n")}
<text x="${(LEFT + RIGHT) / 2}" y="${BOTTOM + 46}" text-anchor="middle">${what}</text>
</svg>
`;
}

for (const [what, words] of [["steps", "Time against the number of steps"], ["population", "Time against the population"]]) {
    const points = simPoints(folder, what);
    if (points.length > 1) writeFileSync(`${target}/sim-${what}.svg`, draw(what, points, words));
}
