// node tools/web_reference.mjs OUT.json: what the page shows beside a visitor's own measurements, from results/.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { headlineOf, PUBLISHED } from "./tables_web.mjs";

const read = (name) => JSON.parse(readFileSync(join("results", name), "utf8"));
const figure = ({ median, ci95 }) => ({ median, lo: ci95[0], hi: ci95[1] });

// what a dispatch of the smallest kernel costs, by launch strategy
function dispatchCosts(file, where) {
    const record = read(file), sets = [];
    for (const impl of ["dawn", "wgpu", "web"]) {
        const costs = {};
        for (const r of record.results)
            if (r.name === "dispatch" && r.params.impl === impl && r.params.kernel === "empty") costs[r.params.submit] = figure(r);
        if (Object.keys(costs).length) sets.push({ name: impl === "web" ? where : `${where}, ${impl}`, impl, file, when: record.when, costs });
    }
    return sets;
}

// how fast a model is by level, all dispatches of a token in one pass; a run of N tokens makes N + 1 steps
function ladder(file, where) {
    const record = read(file), rates = {}, dispatches = {};
    for (const r of record.results) {
        if (!r.name.startsWith("tg") || r.params.submit !== "batch" || !["dawn", "web"].includes(r.params.impl)) continue;
        rates[r.params.fuse] = figure(r);
        const tokens = Number(r.name.slice(2));
        dispatches[r.params.fuse] = (r.dispatches_per_token * tokens) / (tokens + 1);
    }
    return Object.keys(rates).length ? [{ name: where, model: record.params.model, file, when: record.when, rates, dispatches }] : [];
}

// models in 4 bits in a browser: as others publish them, and in Chrome on an H200
function published() {
    return PUBLISHED.flatMap(({ model, where, tok_per_s, first_token_ms }) => {
        const file = `h200/web/tab.${model}-q4_0.llm.json`, theirs = { model, where, by: "published by others", tok_per_s, first_token_ms };
        if (!existsSync(join("results", file))) return [theirs];
        const record = read(file), { rate, first_token_ms: first, gpu_bytes } = headlineOf(record);
        return [{ model, where: `${record.host.page}, ${record.gpu.device}`, by: "Solo", tok_per_s: rate.median, first_token_ms: first, gpu_bytes }, theirs];
    });
}

writeFileSync(process.argv[2], JSON.stringify({
    dispatch: [...dispatchCosts("h200/dispatch.json", "NVIDIA H200, native"), ...dispatchCosts("h200/web/tab.dispatch.json", "NVIDIA H200, Chrome"), ...dispatchCosts("software-2core/dispatch.json", "software on two cores, native")],
    llm: [...ladder("h200/llm/qwen2.5-0.5b-f16.solo.json", "NVIDIA H200, native, Qwen2.5-0.5B f16"), ...ladder("h200/web/page.llm.json", "NVIDIA H200, Chrome")],
    published: published(),
}));
