// Draws docs/ladder.svg, the picture in the README, from a record:
//
//     node tools/picture.mjs results/h200/dispatch.json docs/ladder.svg
import { readFileSync, writeFileSync } from "node:fs";

const [, , source, target] = process.argv;
const record = JSON.parse(readFileSync(source, "utf8"));
const KERNEL = "add";
const STEPS = [
    ["sync", "submit and wait for each"],
    ["each", "submit each, wait once"],
    ["pass", "a pass each, one submit"],
    ["batch", "all in one pass"],
    ["one", "one dispatch, a barrier between steps"],
];
const COLOURS = { dawn: "#0072b2", wgpu: "#e69f00", vulkan: "#009e73", cuda: "#cc79a7" };

const WIDTH = 860, LEFT = 290, RIGHT = 770, TOP = 64, BAR = 15, GAP = 18;
const LOW = 0.8, HIGH = 60;
const x = (us) => LEFT + ((Math.log(Math.max(us, LOW)) - Math.log(LOW)) / (Math.log(HIGH) - Math.log(LOW))) * (RIGHT - LEFT);
const find = (impl, submit) => record.results.find((r) => r.name === "dispatch" && r.params.impl === impl && r.params.submit === submit && r.params.kernel === KERNEL);

let y = TOP, body = "";
for (const [submit, words] of STEPS) {
    const shown = Object.keys(COLOURS).map((impl) => [impl, find(impl, submit)]).filter(([, r]) => r);
    const middle = y + (shown.length * BAR) / 2;
    body += `<text x="${LEFT - 14}" y="${middle - 2}" text-anchor="end" class="name">${submit}</text>` +
        `<text x="${LEFT - 14}" y="${middle + 13}" text-anchor="end" class="soft">${words}</text>\n`;
    for (const [impl, r] of shown) {
        const end = x(r.median), low = x(r.ci95[0]), high = x(r.ci95[1]), at = y + BAR / 2;
        body += `<rect x="${LEFT}" y="${y + 1.5}" width="${(end - LEFT).toFixed(1)}" height="${BAR - 3}" rx="2" fill="${COLOURS[impl]}"/>` +
            `<path d="M${low.toFixed(1)} ${at}H${high.toFixed(1)}" class="whisker"/>` +
            `<text x="${(Math.max(high, end) + 6).toFixed(1)}" y="${at + 4}" class="value">${r.median.toPrecision(3)}</text>\n`;
        y += BAR;
    }
    y += GAP;
}
let axis = "";
for (const us of [1, 2, 5, 10, 20, 50])
    axis += `<path d="M${x(us).toFixed(1)} ${TOP - 4}V${y - GAP + 4}" class="grid"/><text x="${x(us).toFixed(1)}" y="${y + 6}" text-anchor="middle" class="soft">${us} µs</text>\n`;
let legend = "", at = LEFT;
for (const [impl, colour] of Object.entries(COLOURS)) {
    legend += `<rect x="${at}" y="40" width="11" height="11" rx="2" fill="${colour}"/><text x="${at + 16}" y="50" class="soft">${impl}</text>\n`;
    at += 90;
}
const g = record.gpus[0], height = y + 20;
writeFileSync(target, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" role="img">
<title>What one dispatch costs on ${g.device}, by launch strategy and implementation</title>
<style>
svg { background: #fbfbfa } text { fill: #1b1b1a } .soft { fill: #5d5d5a; font-size: 12px } .name { font-weight: 600; font-size: 14px }
.value { font-size: 12px } .head { font-size: 17px; font-weight: 650 } .grid { stroke: #dededb } .whisker { stroke: #1b1b1a; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) { svg { background: #161618 } text { fill: #ededea } .soft { fill: #a5a5a0 } .grid { stroke: #36363a } .whisker { stroke: #ededea } }
</style>
<text x="24" y="28" class="head">What one dispatch costs on an ${g.device}, in µs (log scale, 95% intervals)</text>
${legend}${axis}${body}</svg>
`);
