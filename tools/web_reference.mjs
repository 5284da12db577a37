// node tools/web_reference.mjs OUT.json: what the page shows beside a visitor's own measurements, from results/.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

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

// how fast a model is by level, all dispatches of a token in one pass
function ladder(file, where) {
    const record = read(file), rates = {}, dispatches = {};
    for (const r of record.results) {
        if (!r.name.startsWith("tg") || r.params.submit !== "batch" || !["dawn", "web"].includes(r.params.impl)) continue;
        rates[r.params.fuse] = figure(r);
        dispatches[r.params.fuse] = r.dispatches_per_token;
    }
    return Object.keys(rates).length ? [{ name: where, model: record.params.model, file, when: record.when, rates, dispatches }] : [];
}

writeFileSync(process.argv[2], JSON.stringify({
    dispatch: [...dispatchCosts("h200/dispatch.json", "NVIDIA H200, native"), ...dispatchCosts("h200/web/tab.dispatch.json", "NVIDIA H200, Chrome"), ...dispatchCosts("software-2core/dispatch.json", "software on two cores, native")],
    llm: [...ladder("h200/llm/qwen2.5-0.5b-f16.solo.json", "NVIDIA H200, native, Qwen2.5-0.5B f16"), ...ladder("h200/web/page.llm.json", "NVIDIA H200, Chrome")],
}));
