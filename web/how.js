// The idea in pictures, with the numbers of this machine where it was measured.
import { lastMeasured } from "./measure.js";
import { short } from "./format.js";
import { escape } from "./plot.js";

let reference = null;

/** Work with gaps in between, or without. */
function timeline(pieces, gap, label, y) {
    const work = 224 / pieces;
    let x = 10, body = "";
    for (let i = 0; i < pieces; i++) {
        body += `<rect x="${x}" y="${y}" width="${work}" height="22" rx="2" fill="var(--three)"/>`;
        x += work;
        if (i + 1 < pieces && gap) {
            body += `<rect x="${x}" y="${y + 8}" width="${gap}" height="6" fill="var(--two)" opacity=".8"/>`;
            x += gap;
        }
    }
    return `<text x="10" y="${y - 8}">${label}</text>${body}`;
}

/** Of one dispatch for many tokens over one for each operator, if the intervals tell. */
function gainOf({ loop, none } = {}) {
    if (!loop || !none) return "";
    if (!(none.lo > 0) || (loop.lo <= none.hi && none.lo <= loop.hi)) return `<p>Whether one dispatch for many tokens made this page's model faster cannot be told: the intervals of the two overlap.</p>`;
    const gain = loop.median / none.median;
    return `<p>One dispatch for many tokens made this page's model <span class="big">${short(gain)}×</span> as fast as one dispatch for each operator.${gain < 1 ? " Less than once: this is software, where launching costs little next to the work, and one workgroup has to do all of it." : ""}</p>`;
}

/** `tokens`: how many dispatches a token of a real model takes, by level. */
function numbers(m, tokens) {
    const { batch, sync, one } = m?.costs ?? {};
    if (!batch) return `<p>Press <a href="#measure">Measure</a>, and the numbers of your own machine stand here.</p>`;
    const rows = [["waited for, one by one", sync], ["all in one pass", batch], ["a step inside one dispatch", one]]
        .filter(([, figure]) => figure?.lo > 0)
        .map(([how, { median: us }]) => `<tr><td>${how}</td><td class="number">${short(us)} µs</td><td class="number">${short((us * tokens.none) / 1000)} ms</td><td class="number">${short((us * tokens.ops) / 1000)} ms</td></tr>`);
    const gain = gainOf(m.rates);
    if (!rows.length) return `<p>No cost above zero was measured here; <a href="#measure">measure</a> again on an idle machine.</p>${gain}`;
    return `<p>On ${escape(m.device)}, in ${escape(m.page)}, one dispatch of a kernel that does nothing costs:</p>
        <div class="scroll"><table><thead><tr><th>Launched</th><th class="number">each</th><th class="number">a token of ${short(tokens.none)} dispatches</th><th class="number">of ${short(tokens.ops)}</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>
        <p class="soft">${short(tokens.none)} dispatches, or fused ${short(tokens.ops)}, are what a token of Qwen2.5-0.5B takes.</p>
        ${gain}`;
}

export async function showHow(into) {
    reference ??= await (await fetch(new URL("reference.json", import.meta.url))).json();
    const m = lastMeasured();
    into.innerHTML = `
        <h2>One word is a hundred errands</h2>
        <p>A language model writes one token, a word or a piece of one, at a time. For each it multiplies its way through all of its weights: dozens of layers,
            a handful of operations in each. A page cannot simply tell the GPU “do all of that”. It hands over one operation, then the next; each such errand is a <em>dispatch</em>,
            and each has its price: the browser checks it, passes it on to another process, the driver queues it, and the GPU runs dry until the next one begins.</p>
        <figure><svg viewBox="0 0 640 190" role="img" aria-label="Three timelines. Many dispatches: work with large gaps. Fused: fewer, smaller gaps. One dispatch: work without gaps.">
            ${timeline(16, 24, "a dispatch for each operator", 30)}
            ${timeline(7, 18, "operators fused: fewer errands", 92)}
            ${timeline(7, 2, "all of it in one dispatch", 154)}
            <g transform="translate(430 84)"><rect width="14" height="14" fill="var(--three)"/><text x="20" y="12" class="soft">work on weights</text><rect y="30" width="14" height="6" fill="var(--two)"/><text x="20" y="38" class="soft">launching, waiting</text></g>
        </svg><figcaption>The same work each time. Only the waiting differs.</figcaption></figure>
        <h2>So Solo makes it one</h2>
        <p>All kernels of the model go into a single program that the GPU runs from the first layer to the last, chooses the token itself, and goes on with the next. Its groups of threads wait for each
            other <em>on the GPU</em>, with a counter that each adds one to, and no one asks the page anything in between. The same kernels, launched one by one, make the very same tokens; that is checked before one dispatch is trusted.</p>
        <figure><svg viewBox="-8 0 648 154" role="img" aria-label="Four groups of threads work side by side and wait for each other at barriers between phases.">
            ${[0, 1, 2, 3].map((lane) => `<text class="soft" x="70" y="${33 + lane * 30}" text-anchor="end">group ${lane + 1}</text>` + [0, 1, 2, 3, 4].map((phase) => {
                const width = [78, 92, 60, 86, 70][(phase + lane) % 5];
                return `<rect x="${76 + phase * 110}" y="${20 + lane * 30}" width="${width}" height="16" rx="3" fill="var(--three)"/>`;
            }).join("")).join("")}
            ${[1, 2, 3, 4, 5].map((phase) => `<line x1="${72 + phase * 110}" x2="${72 + phase * 110}" y1="10" y2="130" stroke="var(--two)" stroke-width="3"/>`).join("")}
            <text class="soft" x="76" y="146">phase 1</text><text class="soft" x="186" y="146">phase 2</text><text class="soft" x="296" y="146">phase 3 …</text>
        </svg><figcaption>Phases inside one dispatch. The bars are barriers: about a microsecond each on a fast GPU.</figcaption></figure>
        <h2>Your machine</h2>
        ${numbers(m, reference.llm[0].dispatches)}
        <h2>What makes it safe</h2>
        <p>A browser does not promise that groups of threads run at the same time, or see what others wrote. So before the first use a test on your GPU finds out how many do, and whether data arrive;
            every wait is bounded; and if anything is not as it should be, Solo goes back to separate dispatches and says so. With a single group of threads none of that is needed, and that works everywhere.</p>`;
}
