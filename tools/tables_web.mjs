// The tables of docs/web.md, from a folder of records that bench/web.mjs or bench/web_gpu.mjs left.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { figure, middle, spread, table } from "./table_text.mjs";

const HOSTS = ["native", "checked", "node", "deno", "chromium", "tab", "firefox"];
const SUBMITS = ["sync", "each", "pass", "batch", "one"], LEVELS = ["none", "ops", "token", "loop"];
const NONE = "Not measured yet.";

function recordsOf(folder, what) {
    const path = (host) => join(folder, `${host}.${what}.json`);
    return HOSTS.filter((host) => existsSync(path(host))).map((host) => ({ host, record: JSON.parse(readFileSync(path(host), "utf8")) }));
}
const isReal = (r) => r.params.impl !== "stub";
const nameOf = ({ host, record }) => ({ native: `native, ${record.gpu.impl}`, checked: `native, ${record.gpu.impl}, with checks of bounds` })[host] ?? `${record.host.page}`;
const rateOf = (record, level) => record.results.find((r) => r.name.startsWith("tg") && r.params.fuse === level);

/** Models in 4 bits in a browser, as an article gives them (ainews.cool, April 2026; it does not say how long the prompts were). */
export const PUBLISHED = [
    { model: "llama-3-8b", where: "Chrome, NVIDIA RTX 4070", tok_per_s: 45, first_token_ms: 850 },
    { model: "phi-3-mini", where: "Edge, Apple M3", tok_per_s: 60, first_token_ms: 220 },
    { model: "gemma-2b", where: "Firefox, Intel Arc A770", tok_per_s: 85, first_token_ms: 180 },
    { model: "mistral-7b", where: "Chrome, AMD RX 7800 XT", tok_per_s: 38, first_token_ms: 920 },
];

/** What a record says of a model: the best level's speed, the fastest reading of a prompt, memory. */
export function headlineOf(record) {
    const best = rateOf(record, "loop") ?? rateOf(record, "token") ?? rateOf(record, "ops");
    const prompts = record.results.filter((r) => r.name.startsWith("pp")).sort((a, b) => a.first_token_ms - b.first_token_ms);
    return { rate: best, first_token_ms: prompts[0]?.first_token_ms ?? null, gpu_bytes: record.params.gpu_bytes };
}

export const WEB_TABLES = {
    web_dispatch(folder) {
        const all = recordsOf(folder, "dispatch");
        if (!all.length) return NONE;
        const cost = (record, submit) => record.results.find((r) => r.name === "dispatch" && isReal(r) && r.params.kernel === "empty" && r.params.submit === submit);
        return table(["µs per dispatch", ...SUBMITS.map((s) => `\`${s}\``)], all.map((one) => [nameOf(one), ...SUBMITS.map((submit) => spread(cost(one.record, submit)))]));
    },
    web_llm(folder) {
        const all = recordsOf(folder, "llm");
        if (!all.length) return NONE;
        return table(["tokens per second", ...LEVELS.map((l) => `\`${l}\``)], all.map((one) => [nameOf(one), ...LEVELS.map((level) => spread(rateOf(one.record, level)))]));
    },
    // The models that others publish figures of: in a tab, natively beside it, and theirs.
    web_published(folder) {
        const rows = PUBLISHED.flatMap(({ model, where, tok_per_s, first_token_ms }) => {
            const mine = recordsOf(folder, `${model}-q4_0.llm`).filter(({ host }) => host === "tab" || host === "native").reverse();
            const cells = mine.map((one) => {
                const { rate, first_token_ms: first, gpu_bytes } = headlineOf(one.record);
                return [`${model}`, `${one.host === "tab" ? one.record.host.page : "natively"}, ${one.record.gpu.device}`, rate ? spread(rate) : "–", first ? figure(first) : "–", figure(gpu_bytes / 1e9)];
            });
            return [...cells, [model, `${where} (published)`, `~${tok_per_s}`, `~${first_token_ms}`, "–"]];
        });
        if (rows.length === PUBLISHED.length) return NONE;
        return table(["model, 4 bits", "where", "tokens per second", "first token, ms", "GPU memory, GB"], rows);
    },
    // Of each model that bench/web_gpu.mjs was given: what the tab makes of it, beside what is native.
    web_models(folder) {
        const levels = ["ops", "loop"];
        const files = existsSync(folder) ? readdirSync(folder) : [];
        const models = files.map((name) => /^native\.(.+)\.llm\.json$/.exec(name)?.[1]).filter(Boolean).sort();
        if (!models.length) return NONE;
        const rows = models.flatMap((model) => {
            const all = recordsOf(folder, `${model}.llm`), native = all[0].record;
            const cell = (record, level) => {
                const there = rateOf(record, level), beside = rateOf(native, level);
                if (!there) return "";
                return `${spread(there)}${record === native ? "" : `, ${Math.round((100 * there.median) / beside.median)}%`}`;
            };
            return all.map((one) => [model, nameOf(one), ...levels.map((level) => cell(one.record, level))]);
        });
        return table(["model", "tokens per second", ...levels.map((l) => `\`${l}\``)], rows);
    },
    web_machine(folder) {
        const all = recordsOf(folder, "dispatch");
        if (!all.length) return NONE;
        const { gpu, host, solo, when } = all[0].record;
        return `${gpu.device}, ${gpu.driver}; ${host.cpu}, ${host.cores} cores; solo ${solo.version} (${solo.commit}), ${when.slice(0, 10)}. Clock steps, ns: ` +
            `${all.map((one) => `${nameOf(one)} ${middle({ median: one.record.clock_ns })}`).join(", ")}.`;
    },
};
