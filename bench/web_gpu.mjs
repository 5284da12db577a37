// What a tab costs on one GPU: the same measurements natively (Dawn) and in Chromium, in one run, tokens compared.
//
//     node bench/web_gpu.mjs -o FOLDER [--model FILE.gguf]... [-p 512] [-d 512] [-n 128] [-r 5] [--adapter gpu] [--parts LIST]
//                            [--levels ops,loop] [--env NAME=VALUE]... [--limit SECONDS] [--dispatch-rounds N]
//
// Parts, in this order: look (what adapter Chromium gives a page), and for each model native, checked (natively with checks of
// bounds, which pages always have), tab, answer (what the page itself would choose for it, and its text); then
// dispatch (the laboratory, natively and in the tab). A model is measured by -n tokens behind -d, and by a prompt of -p: how long it takes
// until the first token is there, with everything compiled. A file may be larger than wasm's memory. Each part has a limit of its own, and those that
// fail leave the others be. Leaves records as FOLDER/WHERE.MODEL.llm.json and FOLDER/WHERE.dispatch.json, what
// the tab said as FOLDER/tab.log, and a table on standard output.
//
// Wants build/solo and build/web (or SOLO and SOLO_PAGE); tests/web/browsers.mjs says which Chromium and driver are taken.
import { execFile } from "node:child_process";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { open } from "../tests/web/browsers.mjs";
import { serve } from "../tests/web/server.mjs";
import { recordText } from "../tools/record_layout.mjs";

const args = process.argv.slice(2);
const all = (name) => args.flatMap((word, i) => (word === name ? [args[i + 1]] : []));
const value = (name, otherwise) => all(name).at(-1) ?? otherwise;
const folder = value("-o"), models = all("--model"), adapter = value("--adapter", "any");
const limit_s = Number(value("--limit", 150)); // of a part
const parts = value("--parts", "look,native,checked,tab,answer,dispatch").split(","), levels = value("--levels", "ops,loop").split(",");
const size = { prompt: Number(value("-p", 512)), depth: Number(value("-d", 512)), tokens: Number(value("-n", 128)), repetitions: Number(value("-r", 5)) };
const rounds = Number(value("--dispatch-rounds", 0)), environment = Object.fromEntries(all("--env").map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
const solo = process.env.SOLO ?? "build/solo", page = process.env.SOLO_PAGE ?? "build/web";
const PROMPT = "Once upon a time", ANSWER_TOK = 48;
if (!folder) {
    console.error("usage: node bench/web_gpu.mjs -o FOLDER [--model FILE]... (the file itself says the rest)");
    process.exit(2);
}
mkdirSync(folder, { recursive: true });

const began = performance.now();
const tell = (text) => console.log(`[${((performance.now() - began) / 1000).toFixed(1)} s] ${text}`);
const log = (text) => appendFileSync(join(folder, "tab.log"), `[${((performance.now() - began) / 1000).toFixed(1)} s] ${text}\n`);
const keep = (name, record) => writeFileSync(join(folder, `${name}.json`), recordText(record));
const within = (promise, seconds, what) => {
    let timer;
    const late = new Promise((_, fail) => (timer = setTimeout(() => fail(new Error(`${what}: not done after ${seconds} s`)), seconds * 1000)));
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
};

// ---- natively ---------------------------------------------------------------------

async function native(...words) {
    const options = { maxBuffer: 1 << 28, timeout: limit_s * 1000, killSignal: "SIGKILL", env: { ...process.env, ...environment } };
    const { stdout } = await promisify(execFile)(solo, words.map(String), options);
    return stdout;
}

const nativeLlm = async (file, levels, ...more) =>
    JSON.parse(await native("bench", "llm", file, "--impl", "dawn", "--adapter", adapter, "--fuse", levels.join(","), "--submit", "batch", "-p", size.prompt, "-n", size.tokens,
        "-d", size.depth, "-r", size.repetitions, "--json", "-", ...more));

// ---- in a tab ------------------------------------------------------------------------

/** A tab with the module, and a place for a file, as a person would pick one. */
class Tab {
    static async open() {
        const tab = new Tab();
        tab.server = await serve(page);
        tab.browser = await within(open("chromium"), 60, "starting Chromium");
        tab.browser.onConsole(log);
        await tab.browser.goto(`${tab.server.url}/package.json`);
        await tab.browser.evaluate(() => {
            document.body.innerHTML = "<input type=file id=file>";
            globalThis.say = (progress) => console.log(`${progress.what}: ${Math.round((100 * progress.done) / (progress.total || 1))}%`);
        });
        return tab;
    }

    /** Starts what may take minutes, and looks for its end; the tab goes if it does not come. */
    async run(what, act, argument) {
        await this.browser.evaluate(([text, given]) => {
            globalThis.result = null;
            (0, eval)(`(${text})`)(given).then((made) => (globalThis.result = { made }), (error) => (globalThis.result = { error: String(error?.message ?? error) }));
        }, [String(act), argument]);
        const { made, error } = await within(this.browser.until(() => globalThis.result, limit_s * 1000 + 5000), limit_s, what);
        if (error) throw new Error(error);
        return made;
    }

    pick(file) {
        return this.browser.page.setInputFiles("#file", file);
    }

    async close() {
        await this.browser?.close();
        this.server.close();
    }
}

async function inTab(what, act) {
    const tab = await Tab.open();
    try {
        return await act(tab);
    } catch (error) {
        throw new Error(`${what}: ${error.message}`);
    } finally {
        await tab.close();
    }
}

const look = () => inTab("look", (tab) => tab.run("look", async ({ adapter, environment }) => {
    const found = await navigator.gpu?.requestAdapter({ powerPreference: "high-performance" });
    if (!found) throw new Error(navigator.gpu ? "no adapter" : "no WebGPU");
    const { vendor, architecture, device, description, subgroupMinSize, subgroupMaxSize } = found.info, limits = {};
    for (const name of ["maxBufferSize", "maxStorageBufferBindingSize", "maxStorageBuffersPerShaderStage", "maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup"]) limits[name] = found.limits[name];
    console.log(`the adapter: ${JSON.stringify({ vendor, architecture, device, description, limits })}`);
    const { Solo } = await import("/solo.js"), solo = await Solo.open({ adapter, environment }), info = solo.info;
    await solo.close();
    return { vendor, architecture, device, description, subgroups: [subgroupMinSize, subgroupMaxSize], fallback: found.isFallbackAdapter ?? found.info.isFallbackAdapter ?? null, features: [...found.features], limits, isolated: crossOriginIsolated, solo: info };
}, { adapter, environment }));

const tabLlm = (file, levels) => inTab("tab", async (tab) => {
    await tab.pick(file);
    return tab.run("measuring the model", async ({ adapter, environment, levels, size }) => {
        const { Solo } = await import("/solo.js");
        // the laboratory makes its own device; the page's model is only where the file is read from
        const solo = await Solo.load({ model: document.getElementById("file").files[0], level: "ops", context: 32, adapter, environment, onProgress: say });
        const record = await solo.benchLlm({ levels, ...size, onProgress: say });
        await solo.close();
        return record;
    }, { adapter, environment, levels, size });
});

/** What the page itself would do with the model: its level, its workgroups, its text. */
const tabAnswer = (file) => inTab("answer", async (tab) => {
    await tab.pick(file);
    return tab.run("an answer", async ({ adapter, environment, prompt, most }) => {
        const { Solo } = await import("/solo.js");
        const opened = performance.now(), solo = await Solo.load({ model: document.getElementById("file").files[0], context: 256, adapter, environment, onProgress: say });
        const load_s = (performance.now() - opened) / 1000;
        await solo.improved; // one dispatch, the first time
        const improved_s = (performance.now() - opened) / 1000, greedy = { prompt, max_tokens: most, temperature: 0, repeat_penalty: 1 };
        const first = await solo.completions.create(greedy), { level, workgroups, notice } = solo.model;
        await solo.close();
        return { load_s, improved_s, level, workgroups, notice, after: first.solo, text: first.choices[0].text };
    }, { adapter, environment, prompt: PROMPT, most: ANSWER_TOK });
});

const tabDispatch = () => inTab("dispatch", (tab) => tab.run("the laboratory", async ({ adapter, environment, rounds }) => {
    const { Solo } = await import("/solo.js"), solo = await Solo.open({ adapter, environment });
    const record = await solo.benchDispatch({ quick: true, rounds, processes: rounds ? 1 : 0, onProgress: say });
    await solo.close();
    return record;
}, { adapter, environment, rounds }));

// ---- all of it ---------------------------------------------------------------------------

/** One dispatch is not possible everywhere: what else was asked for is measured all the same, and the reason kept. */
async function orFewer(measure) {
    try {
        return await measure(levels);
    } catch (error) {
        const why = `${error.message}${error.stderr ?? ""}`.split("\n").find((line) => /cannot be measured here/.test(line)), others = levels.filter((level) => level === "none" || level === "ops");
        if (!why || !others.length) throw error;
        tell(why);
        return { ...(await measure(others)), skipped: [{ what: "one dispatch", why }] };
    }
}

let failures = 0;
async function part(name, what, act) {
    if (!parts.includes(name)) return null;
    tell(what);
    try {
        return await act();
    } catch (error) {
        failures++;
        tell(`FAILED: ${what}: ${error.message.split("\n").slice(0, 3).join(" | ")} ${error.stderr ? String(error.stderr).slice(-300) : ""}`);
        return null;
    }
}

const rows = []; // each is said at once, too: what comes later may not come
function row(text) {
    rows.push(text);
    console.log(text);
}

function addRates(where, model, record) {
    for (const r of record.results) {
        const groups = r.params.workgroups ? `, ${r.params.workgroups} x ${r.params.threads}` : "";
        const more = r.first_token_ms ? `first token ${r.first_token_ms.toFixed(1)} ms` : `${r.dispatches_per_token} dispatches a token`;
        row(`${model.padEnd(18)} ${where.padEnd(8)} ${r.name.padEnd(6)} ${(r.params.fuse + groups).padEnd(16)} ${r.median.toFixed(1).padStart(9)} tok/s [${r.ci95.map((x) => x.toFixed(1)).join(", ")}] ${more}`);
    }
    row(`${model.padEnd(18)} ${where.padEnd(8)} ${(record.params.gpu_bytes / 1e9).toFixed(2)} GB of GPU memory`);
}

function compareTokens(model, records) {
    const [first, ...others] = Object.entries(records).filter(([, record]) => record);
    for (const [where, record] of others) {
        const at = first[1].tokens.findIndex((token, i) => token !== record.tokens[i]);
        row(`${model}: ${where} made ${at < 0 ? `the same ${record.tokens.length} tokens as` : `ANOTHER TOKEN ${at + 1} than`} ${first[0]}`);
    }
}

function addShares(model, there, tab) {
    for (const a of there?.results ?? []) {
        const b = tab?.results.find((r) => r.name === a.name && r.params.fuse === a.params.fuse);
        if (b) row(`${model}: ${a.name} ${a.params.fuse} in the tab is ${((100 * b.median) / a.median).toFixed(0)}% of native`);
    }
}

const seen = await part("look", "what a page is given", look);
if (seen) {
    keep("adapter", seen);
    tell(`${seen.description || seen.architecture}, ${seen.solo.gpu.adapter_type}, best level ${seen.solo.best_level}, ${JSON.stringify(seen.limits)}, subgroups ${seen.subgroups}`);
}
for (const file of models) {
    const name = basename(file, ".gguf"), found = {};
    for (const [where, what, act] of [["native", "natively", () => orFewer((some) => nativeLlm(file, some))],
        ["checked", "natively, with checks of bounds", () => orFewer((some) => nativeLlm(file, some, "--checked"))], ["tab", "in a tab", () => orFewer((some) => tabLlm(file, some))]]) {
        found[where] = await part(where, `${name} ${what}`, act);
        if (!found[where]) continue;
        keep(`${where}.${name}.llm`, found[where]);
        addRates(where, name, found[where]);
    }
    compareTokens(name, found);
    addShares(name, found.native, found.tab);
    addShares(`${name} (with checks)`, found.checked, found.tab);
    const answer = await part("answer", `${name}: an answer in a tab`, () => tabAnswer(file));
    if (!answer) continue;
    keep(`tab.${name}.answer`, answer);
    const there = await part("answer", `${name}: the same natively`, () => native("run", file, "-p", PROMPT, "-n", ANSWER_TOK, "-c", 256, "--temp", 0, "--fuse", "ops", "--impl", "dawn"));
    const same = there !== null && there.trimEnd() === (PROMPT + answer.text).trimEnd();
    row(`${name}: the page chose ${answer.level} (${answer.workgroups} workgroups; loaded in ${answer.load_s.toFixed(1)} s, at its best after ${answer.improved_s.toFixed(1)} s; ${answer.after.tokens_per_s.toFixed(0)} tok/s in short answers; ${answer.notice ?? "no notice"}), and its text is ${same ? "the native one's" : "ANOTHER"}`);
}
for (const [where, what, act] of [["native", "natively", async () => JSON.parse(await native("bench", "dispatch", "--impl", "dawn,stub", "--adapter", adapter, "--quick", "--json", "-", ...(rounds ? ["--rounds", rounds, "--processes", 1] : [])))], ["tab", "in a tab", tabDispatch]]) {
    const record = await part("dispatch", `the dispatch laboratory ${what}`, act);
    if (!record) continue;
    keep(`${where}.dispatch`, record);
    const costs = record.results.filter((r) => r.name === "dispatch" && r.params.kernel === "empty" && r.params.impl !== "stub");
    row(`an empty dispatch, us, ${where}: ${costs.map((r) => `${r.params.submit} ${r.median.toPrecision(3)} [${r.ci95.map((x) => x.toPrecision(3)).join(", ")}]`).join(", ")}`);
}
tell(`done, ${failures} failed`);
writeFileSync(join(folder, "table.txt"), `${rows.join("\n")}\n`);
process.exit(failures ? 1 : 0);
