// node bench/soak_page.mjs [OPTION]...: the page in a real browser, used and disturbed at random for a set time, whose answers stay
// right and whose memory stays flat. `make soak-page MINUTES=N`; bench/soak.mjs is the same for a server.
//
// One visitor in one page, which `solo serve` sends, so that the model of the page and the server's answer by turns: short answers,
// which have to be the native program's words, answers that are stopped, messages that are edited, conversations, settings, views, a
// second tab. Beside that, at random: models that are cut, hostile, no models, or whose connection ends; a lost device, also in the
// middle of an answer; the server stopped, or killed in the middle of one; no network. After each of these a question is asked
// again. What ends the page or its worker (reloads, a tab that takes the GPU, a measurement that is cancelled) is done in the first
// sixth only: the rest is one life of both, and the first third is for warming up. Between two of these things every few seconds,
// with a new conversation, the page is looked at. Prints a line for each act and measure; exit status 1 if an answer was wrong, if
// the page's code let an error go, or if something grew. A browser's processes take some minutes to
// become as large as they stay: of less than ten minutes they are only shown.
//
//   --minutes N   (20)        --browser NAME  chromium, or firefox, of which less is known     --json FILE  what was seen, as JSON
//   --sample S    seconds between looks (5)   --solo FILE  the program (build/solo)            --page FOLDER  (build/web)
//   --only REGEX  acts with such names, to look for what they leave                            --seed N  of the order (by the clock)
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { ACTS, asked, BUILTIN, builtinAgain, CANCELLED, named, RELOAD, TAKEN, visitor } from "./soak_page_acts.mjs";
import { amiss, far, folder, log, oneOf, options, pause, server, startServer, trail, url, wrong } from "./soak_page_site.mjs";

const MOST_WRONG = 20;
const { browser, heard, click, textOf, ready } = visitor, { page, evaluate } = browser;
const acts = {}, samples = [];

/** All processes that this one began, but for the server: [{ pid, kind, mib, ticks }]. */
function processes() {
    const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
        try {
            const stat = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /s, "").split(" "), said = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
            return [{ pid: Number(pid), parent: Number(stat[1]), ticks: Number(stat[11]) + Number(stat[12]), mib: Number(stat[21]) * 4096 / 2 ** 20, said }];
        } catch {
            return []; // it has ended
        }
    });
    const mine = new Set([process.pid]);
    for (let before = 0; before !== mine.size; ) {
        before = mine.size;
        for (const p of all) if (mine.has(p.parent) && p.pid !== server?.pid) mine.add(p.pid);
    }
    const kindOf = (said) => /--type=renderer|\btab$/.test(said.trim()) ? "renderer" : /--type=gpu-process|\bgpu$/.test(said.trim()) ? "gpu" : /--type=|contentproc/.test(said) ? "other" : "browser";
    return all.filter((p) => mine.has(p.pid) && p.pid !== process.pid && /chrom|firefox/.test(p.said)).map((p) => ({ ...p, kind: kindOf(p.said) }));
}

let ofPage = null; // its process: the one that worked most when the page had been used
const cdp = options.browser === "chromium" ? await browser.context.newCDPSession(page) : null;

async function look(began) {
    await builtinAgain();
    await click("clear");
    const found = processes(), sum = (kind) => found.filter((p) => p.kind === kind).reduce((all, p) => all + p.mib, 0);
    if (!found.some((p) => p.pid === ofPage)) ofPage = found.filter((p) => p.kind === "renderer").sort((a, b) => b.ticks - a.ticks)[0]?.pid;
    const seen = { s: Math.round((Date.now() - began) / 1000), page_mib: found.find((p) => p.pid === ofPage)?.mib ?? 0, gpu_process_mib: sum("gpu"), browser_mib: sum("browser"), other_mib: sum("other") };
    if (!cdp) return seen;
    await evaluate(() => ["conversation-list", "kept"].forEach((id) => document.getElementById(id).replaceChildren())); // made anew when they are shown
    await cdp.send("HeapProfiler.collectGarbage");
    const { breakdown } = await evaluate(() => performance.measureUserAgentSpecificMemory()), heap = (scope) => breakdown.filter((b) => b.attribution.some((a) => a.scope === scope)).reduce((all, b) => all + b.bytes, 0) / 2 ** 20;
    const { nodes, jsEventListeners } = await cdp.send("Memory.getDOMCounters"), counts = {};
    for (const worker of page.workers()) for (const [key, n] of Object.entries(await worker.evaluate(() => soakCounts()))) counts[key] = (counts[key] ?? 0) + n;
    return { ...seen, heap_mib: heap("Window"), worker_heap_mib: heap("DedicatedWorkerGlobalScope"), nodes, listeners: jsEventListeners, workers: page.workers().length, ...counts };
}

// ---- all of it ------------------------------------------------------------------------------------

const began = Date.now(), lasts = options.minutes * 60_000, names = Object.keys(ACTS).filter((name) => new RegExp(options.only).test(name)), coming = [...names]; // each once, whatever comes
let looked = 0, gone = false;
await browser.size(1100, 800);
await browser.goto(url);
await ready();
await click("use-builtin");
await named(BUILTIN);
const keep = (idle) => options.json && writeFileSync(options.json, JSON.stringify({ minutes: options.minutes, browser: options.browser, acts, asked, samples, idle, wrong }, null, 1) + "\n");
const left = () => began + lasts - Date.now();
while (left() > 0 && wrong.length < MOST_WRONG && !gone) {
    const mayEnd = options.only !== "." || left() > lasts * 5 / 6, name = coming.pop() ?? oneOf(mayEnd ? names : names.filter((n) => ![RELOAD, TAKEN, CANCELLED].includes(n)));
    trail.push(name);
    trail.splice(0, trail.length - 6);
    acts[name] = (acts[name] ?? 0) + 1;
    try {
        await ACTS[name]();
        for (const line of heard.splice(0)) if (line.startsWith("error:")) amiss(line);
        if (Date.now() - looked > options.sample * 1000) {
            samples.push({ ...(await look(began)), after: name });
            looked = Date.now();
            keep({});
        }
    } catch (error) {
        amiss(`${name}: ${error.message}; the page says: ${await textOf("trouble-text").catch((e) => ((gone = /closed/.test(e.message)), "nothing any more"))}`);
        if (server.exitCode !== null || server.signalCode) await startServer().catch((e) => amiss(e.message));
        far.down = false;
        await browser.offline?.(false).catch(() => {});
        await page.reload().then(ready).catch((e) => amiss(`no reload: ${e.message}`));
    }
}
const idle = gone ? {} : await pause(5000).then(() => look(began)).catch((error) => (amiss(`the last look: ${error.message}`), {}));
if (server.exitCode === null) server.kill("SIGTERM");
if ((await server.ended) !== 0) amiss(`the server ended with ${await server.ended}: ${log}`);
await browser.close();
far.close();
rmSync(folder, { recursive: true });

// The last third beside the middle one. What a browser gives back only after minutes comes and goes, and what is shown differs: only
// what raises both the median and the lowest tenth has grown.
const third = Math.floor(samples.length / 3);
const part = (list, key, of) => list.map((s) => s[key]).sort((a, b) => a - b)[Math.floor(list.length * of)];
const MEASURES = [["page_mib", "the page's process", 1.03, 4], ["gpu_process_mib", "the GPU's process", 1.03, 4], ["browser_mib", "the browser's process", 1.03, 4], ["other_mib", "its other processes", 1.03, 4],
    ["heap_mib", "objects of the page", 1.03, 0.3], ["worker_heap_mib", "objects of its worker", 1.03, 0.3], ["wasm_mib", "memory of programs (wasm)", 1.01, 1], ["gpu_mib", "buffers of the GPU", 1.01, 1],
    ["gpu_buffers", "buffers", 1, 3], ["programs", "programs", 1, 0], ["devices", "devices", 1, 0], ["workers", "workers", 1, 0], ["nodes", "nodes", 1.05, 20], ["listeners", "listeners", 1.05, 5]];
for (const [name, n] of Object.entries(acts)) console.log(`${String(n).padStart(5)}× ${name}`);
console.log(`${asked} answers looked at, ${samples.length} looks in ${options.minutes} minutes`);
for (const [key, name, room, more] of MEASURES) {
    const thirds = [samples.slice(third, 2 * third), samples.slice(2 * third)], parts = [0.5, 0.1].map((of) => thirds.map((list) => part(list, key, of)));
    if (parts[0][0] === undefined) continue;
    const isJudged = options.minutes >= 10 || !name.includes("process"), grew = isJudged && parts.every(([before, after]) => after > before * room + more), digits = key.endsWith("_mib") ? 1 : 0, [before, after] = [0, 1].map((which) => parts[0][which].toFixed(digits) + ` (lowest tenth ${parts[1][which].toFixed(digits)})`);
    console.log(`${name}${digits ? ", MiB" : ""}: middle third ${before}, last third ${after}, afterwards ${idle[key]?.toFixed(digits)}${grew ? ": grew" : ""}`);
    if (grew) wrong.push(`${name} grew from ${before} to ${after}`);
}
if (third < 2) wrong.push("too short to say what grows: at least six looks");
for (const what of wrong) console.log(`wrong: ${what.slice(0, 1000)}`);
keep(idle);
process.exit(wrong.length ? 1 : 0);
