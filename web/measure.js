// Measuring this browser, and what came out: beside other devices, beside what others claim, and as a record to keep.
import { bars, escape } from "./plot.js";
import { bytes, copy, deviceName, progressTeller, seconds, short } from "./format.js";
import { lookBusy } from "./quiet.js";
import { shareMarkup, startShare } from "./share.js";

const $ = (id) => document.getElementById(id);
const WAYS = { sync: "wait for each", each: "submit each", pass: "a pass each", batch: "all in one pass", one: "one dispatch" };
const LEVELS = { none: "per operator", ops: "per group (ops)", token: "per token", loop: "many tokens" };
const RECORDS = { dispatch: "dispatch", llm: "model's", decoder: "small decoder's" };
const KEPT = "solo-measured";
const COARSE = globalThis.crossOriginIsolated ? "" : "This page is not cross-origin isolated: its clock is coarse.";

const figure = ({ median, ci95 }) => ({ median, lo: ci95[0], hi: ci95[1] });
const named = (values, names) => Object.fromEntries(Object.entries(values).map(([key, value]) => [names[key], value]));

/** What was measured here, short enough to be remembered. */
export function summary(dispatch, llm) {
    const costs = {}, harness = {}, rates = {}, perToken = {};
    for (const r of dispatch?.results ?? [])
        if (r.name === "dispatch" && r.params.kernel === "empty") (r.params.impl === "stub" ? harness : costs)[r.params.submit] = figure(r);
    for (const r of llm?.results ?? []) {
        rates[r.params.fuse] = figure(r);
        const tokens = Number(r.name.replace(/\D/g, "")); // and one step more
        perToken[r.params.fuse] = (r.dispatches_per_token * tokens) / (tokens + 1);
    }
    const { gpu, clock_ns, host } = dispatch ?? llm;
    return { costs, harness, rates, perToken, device: deviceName(gpu), type: gpu.adapter_type, page: host.page, clock_ns, isolated: host.cross_origin_isolated, model: llm?.params.model ?? null };
}

export function lastMeasured() {
    try {
        return JSON.parse(localStorage.getItem(KEPT));
    } catch {
        return null;
    }
}

function claimsTable(claims) {
    const rows = claims.filter((c) => c.here).map((c) => `<tr><td>${escape(c.claim)}<br><span class="soft">${escape(c.said_by)}</span></td><td>${escape(c.here)}</td><td>${escape(c.verdict)}</td></tr>`);
    return rows.length ? `<h3>What others claim, and what it is here</h3><div class="scroll"><table><thead><tr><th>Claim</th><th>In this browser</th><th>Verdict</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>` : "";
}

/** Models in 4 bits in browsers, as others publish them: to hold a visitor's own figures against. */
function publishedTable(list, llm, mine) {
    if (!list?.length) return "";
    const row = (cells) => `<tr>${cells.map((cell, i) => `<td${i > 1 ? ' class="number"' : ""}>${escape(String(cell))}</td>`).join("")}</tr>`;
    const best = mine.rates.loop ?? mine.rates.token ?? mine.rates.ops;
    const here = llm && best ? [row([llm.params.model, `here: ${mine.page}, ${mine.device}`, short(best.median), "", bytes(llm.params.gpu_bytes)])] : [];
    const rows = list.map((p) => row([p.model, `${p.where} (${p.by})`, short(p.tok_per_s), short(p.first_token_ms), p.gpu_bytes ? bytes(p.gpu_bytes) : ""]));
    return `<h3>Models of 4 bits in browsers</h3><div class="scroll"><table><thead><tr><th>Model</th><th>Where</th><th class="number">Tokens a second</th><th class="number">First token, ms</th><th class="number">GPU memory</th></tr></thead><tbody>${[...here, ...rows].join("")}</tbody></table></div>`;
}

const COARSE_NS = 50_000;

/** What stands before the figures: why they may not be trusted. */
function warnings(list, clock_ns) {
    const coarse = clock_ns > COARSE_NS ? `the clock is coarse here, with steps of ${short(clock_ns / 1000)} µs: small effects cannot be told` : null;
    return [...list, coarse].filter(Boolean).map((text) => `<p class="warning">${escape(text[0].toUpperCase() + text.slice(1))}.</p>`).join("");
}

/** The published ratio of this kind is of a whole run, without saying how many dispatches lay between two waits. */
function decoderFigure(record, name) {
    const ms = Object.fromEntries(record.results.map((r) => [r.params.submit, { median: r.median / 1e3, lo: r.ci95[0] / 1e3, hi: r.ci95[1] / 1e3 }])), { one } = ms;
    const over = ([submit, t]) => `${WAYS[submit]} ${t.lo <= one.hi && one.lo <= t.hi ? "cannot be told" : `${short(t.median / one.median)}×`}`;
    const { tokens, layers, steps } = record.results[0].params;
    return bars({
        title: "A small decoder: 1,024 dispatches, or one", unit: `ms for ${tokens} tokens through ${layers} layers, ${steps} steps`, log: true, rows: Object.values(WAYS), series: [{ name, values: named(ms, WAYS) }],
        note: `Over one dispatch: ${Object.entries(ms).filter(([submit]) => submit !== "one").map(over).join(", ")}. kernelfusion.dev publishes 20× to 71×, the median of 92 devices, by a workload of this shape.`,
    });
}

function draw(into, { dispatch, llm, decoder, why, doubts }, reference) {
    const mine = summary(dispatch, llm), name = `here: ${mine.page}, ${mine.device}`;
    const others = reference.dispatch.filter((set) => set.impl !== "wgpu").map((set) => ({ name: set.name, values: named(set.costs, WAYS) }));
    const harness = mine.harness.batch?.lo > 0 ? `${short(mine.harness.batch.median)} µs` : "too little to be told";
    let markup = warnings(doubts, mine.clock_ns) + bars({
        title: "What one dispatch costs", unit: "µs for each dispatch", log: true, rows: Object.values(WAYS),
        series: [{ name, values: named(mine.costs, WAYS) }, ...others],
        note: `The last row is a step inside one dispatch. What the measuring itself costs (taken with a GPU that does nothing) is ${harness} in one pass.`,
    });
    const same = reference.llm.filter((set) => set.model === llm?.params.model).map((set) => ({ name: set.name, values: named(set.rates, LEVELS) }));
    if (llm)
        markup += bars({
            title: `The model, in more and in fewer dispatches (${llm.params.model})`, unit: "tokens a second", log: same.length > 0, rows: Object.values(LEVELS),
            series: [{ name, values: named(mine.rates, LEVELS) }, ...same],
            note: `Dispatches a token: ${Object.keys(LEVELS).filter((level) => level in mine.perToken).map((level) => `${LEVELS[level]} ${short(mine.perToken[level])}`).join(", ")}. All of them made the same tokens.`,
        });
    if (decoder) markup += decoderFigure(decoder, name);
    if (why) markup += `<p class="soft">${escape(why)}</p>`;
    const made = { dispatch, llm, decoder }, kinds = Object.keys(made).filter((kind) => made[kind]);
    const checks = new Set(kinds.flatMap((kind) => made[kind].checks).map((c) => `<li>${escape(`${c.ok ? "" : "Not so: "}${c.what}: ${c.detail}`)}</li>`));
    markup += claimsTable(dispatch.claims) + publishedTable(reference.published, llm, mine) +
        `<h3>What was checked</h3><ul>${[...checks].join("")}</ul>` +
        `<p class="soft">The clock's steps: ${short(mine.clock_ns / 1000)} µs${mine.isolated ? " (this page is cross-origin isolated)" : ": coarse, because this page is not cross-origin isolated; solo web serves it so that it is"}. An effect below that cannot be told.</p>` +
        `<p class="row">${kinds.map((kind) => `<button type="button" data-save="${kind}">Save the ${RECORDS[kind]} record</button>`).join("")}<button type="button" data-copy>Copy all</button></p>${shareMarkup}`;
    into.innerHTML = markup;
    startShare(into, kinds.map((kind) => made[kind]));
}

function save(record, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(record, null, 1)], { type: "application/json" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Browsers give a hidden tab less time: until it is called, the function that comes back watches for that. */
function watchSight() {
    let hidden = document.hidden;
    const look = () => (hidden ||= document.hidden);
    document.addEventListener("visibilitychange", look);
    return () => {
        document.removeEventListener("visibilitychange", look);
        return hidden ? "the tab was in the background for some of the time: measure again" : null;
    };
}

/** A check of all records that failed: a collector does not take them then. */
function note(what, detail, ...made) {
    if (detail) for (const record of made) record?.checks.push({ what, ok: false, detail });
}

/** Other devices; without them what was measured here stands alone. */
const fetchReference = () => fetch(new URL("reference.json", import.meta.url)).then((response) => response.json()).catch(() => ({ dispatch: [], llm: [], published: [] }));

export function startMeasure(page, { rounds }) {
    const into = $("measured");
    let records = null, cancelled = false;

    async function measure() {
        const { solo } = page, long = $("measure-long").checked;
        const onProgress = progressTeller($("measuring-bar"), $("measuring-text"), (what) => /load/.test(what));
        const software = solo.info.gpu.adapter_type === "software";
        const dispatch = await solo.benchDispatch({ quick: !long, rounds, processes: rounds ? 1 : 0, onProgress });
        // its program is fetched now: that may fail, and the rest is measured all the same
        let undecoded = "", why = null;
        const decoder = await solo.benchDecoder({ repetitions: long ? 20 : software ? 3 : 10, onProgress }).catch((error) => {
            if (cancelled) throw error;
            undecoded = ` The small decoder could not be measured: ${error.message}`;
            return null;
        });
        if (!solo.model) return { dispatch, decoder, llm: null, why: `No model is loaded, so that none was measured.${undecoded}` };
        const size = software ? { tokens: 8, depth: 8, repetitions: long ? 5 : 3 } : { tokens: 64, depth: 64, repetitions: long ? 9 : 5 };
        // where one dispatch is not possible, the others are measured all the same
        const llm = await solo.benchLlm({ ...size, onProgress }).catch((error) => {
            why = error.message;
            if (cancelled) throw error;
            return solo.benchLlm({ ...size, levels: ["none", "ops"], onProgress });
        }).catch((error) => {
            why = cancelled ? "It was cancelled before the model was measured." : `The model could not be measured: ${error.message}`;
            if (!cancelled) page.trouble(error, error.usage ? null : page.recover);
            return null;
        });
        return { dispatch, llm, decoder, why: `${why ?? ""}${undecoded}` };
    }

    $("measure-start").onclick = async () => {
        if (page.busy || !(page.solo || (await page.needGpu()))) return;
        page.busy = true;
        page.calm();
        cancelled = false;
        $("measure-start").disabled = true;
        $("measuring-bar").removeAttribute("value");
        $("measure-cancel").hidden = $("measuring").hidden = false;
        const began = performance.now(), endWatch = watchSight();
        try {
            await new Promise((next) => setTimeout(next, 50)); // to show it
            const busyBefore = lookBusy();
            if (cancelled) return;
            records = await measure();
            const took = seconds((performance.now() - began) / 1000), unseen = endWatch(), busy = busyBefore ?? lookBusy();
            const made = [records.dispatch, records.llm, records.decoder];
            note("the page was in sight", unseen, ...made);
            note("the machine was idle", busy, ...made);
            records.doubts = [unseen, busy];
            draw(into, records, await fetchReference());
            $("measure-clock").textContent = `It took ${took}. ${COARSE}`;
            try {
                localStorage.setItem(KEPT, JSON.stringify(summary(records.dispatch, records.llm)));
            } catch {}
        } catch (error) {
            if (!cancelled) page.trouble(error, error.usage ? null : page.recover);
        } finally {
            endWatch();
            if (!cancelled) page.busy = false; // else it is the next Solo's
            $("measure-start").disabled = false;
            $("measure-cancel").hidden = $("measuring").hidden = true;
        }
    };
    // a measurement in C cannot be stopped half way: the worker is ended, and a new one loads the same model
    $("measure-cancel").onclick = async () => {
        cancelled = true;
        await page.restart();
    };
    into.onclick = async ({ target }) => {
        if (target.dataset.save) save(records[target.dataset.save], `solo-${target.dataset.save}-${records.dispatch.when.slice(0, 10)}.json`);
        if (!("copy" in target.dataset)) return;
        target.textContent = await copy(JSON.stringify([records.dispatch, records.llm, records.decoder].filter(Boolean))) ? "Copied" : "Copying is not allowed here";
    };
    $("measure-clock").textContent = COARSE;
}
