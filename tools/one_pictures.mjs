// Draws the pictures of docs/megakernel.md from the records of bench/one.sh:
//
//     node tools/one_pictures.mjs results/h200/llm docs       one-depth.svg, one-workgroups.svg, one-size.svg
//
// A sweep without records has no picture. They are narrow, with large letters: to be read on a phone.
import { writeFileSync } from "node:fs";
import { gainOf, placeOf, pointsOf } from "./sweeps.mjs";

const [, , folder, target] = process.argv;
if (!target) {
    console.error("usage: node tools/one_pictures.mjs RECORDS FOLDER");
    process.exit(2);
}
const WAYS = { ops: ["#0072b2", "fused operators"], loop: ["#d55e00", "one dispatch"] };
const WIDTH = 520, HEIGHT = 350, LEFT = 62, RIGHT = 496, TOP = 78, BOTTOM = 290;

const at = (x) => x.toFixed(1);
const escaped = (text) => String(text).replace(/[&<>]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]);
const short = (x) => (x >= 1000 && x % 1000 === 0 ? `${x / 1000}k` : `${+x.toPrecision(3)}`);
const valueText = (x) => (x >= 100 ? x.toFixed(0) : x.toPrecision(3));

// Round numbers from 0 to at least `most`.
function ticksTo(most) {
    const rough = most / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough);
    return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => i * step);
}

function svg(title, lines, height, body) {
    const words = lines.map((line, i) => `<text x="16" y="${26 + 20 * i}" class="${i ? "soft" : "head"}">${escaped(line)}</text>`).join("\n");
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" role="img">
<title>${escaped(title)}</title>
<style>
svg { background: #fbfbfa } text { fill: #1b1b1a; font-size: 14px } .soft { fill: #5d5d5a } .head { font-size: 17px; font-weight: 650 }
.value { font-size: 13px } .grid { stroke: #dededb } .whisker { stroke: #1b1b1a; stroke-width: 1.5 } .between { stroke: #a5a5a0; stroke-width: 4; stroke-linecap: round }
@media (prefers-color-scheme: dark) { svg { background: #161618 } text { fill: #ededea } .soft { fill: #a5a5a0 } .grid { stroke: #36363a }
.whisker { stroke: #ededea } .between { stroke: #5d5d5a } }
</style>
${words}
${body}</svg>
`;
}

function legend(ways, y) {
    let x = LEFT;
    return ways.map((way) => {
        const text = `<circle cx="${x + 6}" cy="${y - 5}" r="6" fill="${WAYS[way][0]}"/><text x="${x + 18}" y="${y}" class="soft">${WAYS[way][1]}</text>\n`;
        x += 150;
        return text;
    }).join("");
}

const waysIn = (points) => Object.keys(WAYS).filter((way) => points.some((p) => p.ways[way]));
const deviceOf = (points) => points[0].record.gpu.device;
// The model by name; a path's last part is what the record has.
const modelOf = (points) => points[0].record.params.model.replace(/\.gguf$/, "");

// Tokens per second, from 0, against a number, from 0.
function lines(points, sweep, heading, under, axisName) {
    const ways = waysIn(points), results = points.flatMap((p) => ways.map((way) => p.ways[way]).filter(Boolean));
    const rows = ticksTo(Math.max(...results.map((r) => r.ci95[1])));
    const most = Math.max(1, ...points.map((p) => placeOf(sweep, p)));
    const x = (place) => LEFT + (place / most) * (RIGHT - LEFT - 14), y = (rate) => BOTTOM - (rate / rows.at(-1)) * (BOTTOM - TOP);
    let body = legend(ways, 68);
    for (const rate of rows) body += `<path d="M${LEFT} ${at(y(rate))}H${RIGHT}" class="grid"/><text x="${LEFT - 8}" y="${at(y(rate) + 5)}" text-anchor="end" class="soft">${+rate.toPrecision(3)}</text>\n`;
    let free = -Infinity; // labels stand under the points, as far as there is room
    for (const place of points.map((p) => placeOf(sweep, p))) {
        if (x(place) < free) continue;
        free = x(place) + 34;
        body += `<text x="${at(x(place))}" y="${BOTTOM + 20}" text-anchor="middle" class="soft">${place >= 1024 && place % 1024 === 0 ? `${place / 1024}k` : place}</text>\n`;
    }
    body += `<text x="${(LEFT + RIGHT) / 2}" y="${BOTTOM + 44}" text-anchor="middle">${axisName}</text>\n`;
    for (const way of ways) {
        const here = points.filter((p) => p.ways[way]).map((p) => ({ x: x(placeOf(sweep, p)), r: p.ways[way] }));
        body += `<path d="M${here.map((h) => `${at(h.x)} ${at(y(h.r.median))}`).join("L")}" fill="none" stroke="${WAYS[way][0]}" stroke-width="2.5"/>\n`;
        for (const { x: place, r } of here)
            body += `<path d="M${at(place)} ${at(y(r.ci95[0]))}V${at(y(r.ci95[1]))}" class="whisker"/><circle cx="${at(place)}" cy="${at(y(r.median))}" r="4.5" fill="${WAYS[way][0]}"><title>${placeOf(sweep, points.find((p) => p.ways[way] === r))}: ${valueText(r.median)} tokens per second</title></circle>\n`;
        const last = here.at(-1).r, above = ways.every((other) => (points.at(-1).ways[other]?.median ?? 0) <= last.median);
        body += `<text x="${RIGHT}" y="${at(above ? y(last.ci95[1]) - 9 : y(last.ci95[0]) + 18)}" text-anchor="end" class="value">${valueText(last.median)}</text>\n`;
    }
    return svg(heading, [heading, under], HEIGHT, body);
}

// Models as pairs of dots on a scale of factors.
function pairs(points, heading, under) {
    const ways = waysIn(points), results = points.flatMap((p) => ways.map((way) => p.ways[way]).filter(Boolean)), row = 62;
    const low = Math.min(...results.map((r) => r.median)) / 1.6, high = Math.max(...results.map((r) => r.median)) * 1.6;
    const x = (rate) => LEFT + (Math.log(rate / low) / Math.log(high / low)) * (RIGHT - LEFT);
    const bottom = TOP + 14 + row * points.length;
    let body = legend(ways, 68);
    const marks = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power < high; power *= 10)
        for (const m of [1, 2, 5]) if (m * power >= low && m * power <= high) marks.push(m * power);
    for (const rate of marks) body += `<path d="M${at(x(rate))} ${TOP}V${bottom}" class="grid"/><text x="${at(x(rate))}" y="${bottom + 20}" text-anchor="middle" class="soft">${short(rate)}</text>\n`;
    points.forEach((p, i) => {
        const y = TOP + 48 + row * i, here = ways.map((way) => [way, p.ways[way]]).filter(([, r]) => r), gain = gainOf(p);
        body += `<text x="16" y="${y - 20}">${escaped(p.where)}<tspan class="soft">${gain ? `  ${gain.toFixed(2)}×` : ""}</tspan></text>\n`;
        if (here.length > 1) body += `<path d="M${at(x(here[0][1].median))} ${y}H${at(x(here[1][1].median))}" class="between"/>\n`;
        const left = here.reduce((a, b) => (b[1].median < a[1].median ? b : a))[0];
        for (const [way, r] of here) {
            const before = way === left && here.length > 1, beside = before ? Math.min(x(r.ci95[0]), x(r.median) - 7) - 5 : Math.max(x(r.ci95[1]), x(r.median) + 7) + 5;
            body += `<path d="M${at(x(r.ci95[0]))} ${y}H${at(x(r.ci95[1]))}" class="whisker"/><circle cx="${at(x(r.median))}" cy="${y}" r="6.5" fill="${WAYS[way][0]}"/>` +
                `<text x="${at(beside)}" y="${y + 5}" text-anchor="${before ? "end" : "start"}" class="value">${valueText(r.median)}</text>\n`;
        }
    });
    return svg(heading, [heading, under], bottom + 34, body);
}

const PICTURES = {
    "one-depth.svg": ["depth", (p) => lines(p, "depth", "Tokens per second against context depth", `${modelOf(p)}, ${deviceOf(p)}, 95% intervals`, "tokens that stand before")],
    "one-workgroups.svg": ["groups", (p) => lines(p, "groups", "Tokens per second against workgroups", `${modelOf(p)}, ${deviceOf(p)}, 95% intervals`, "workgroups of the one dispatch")],
    "one-size.svg": ["size", (p) => pairs(p, "Tokens per second by model (log scale)", `${deviceOf(p)}, 95% intervals`)],
};
for (const [file, [sweep, draw]] of Object.entries(PICTURES)) {
    const points = pointsOf(folder, sweep);
    if (points.length) writeFileSync(`${target}/${file}`, draw(points));
}
