// The tables of docs/llm.md, and the README's table of engines, from a folder of records as bench/llm.sh leaves it:
// MODEL-TYPE.ENGINE.json. Each is given the list of them: {model, type, engine, record}.
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { figure, interval, spread, table } from "./table_text.mjs";

export const NOTHING = "Not measured yet.";
const SUBMITS = ["sync", "each", "pass", "batch"];
const FUSES = ["none", "ops", "token", "loop"];
const SYSTEMS = { torch: "PyTorch", llama: "llama.cpp", solo: "Solo" };

export function recordsIn(folder) {
    if (!existsSync(folder)) return [];
    return readdirSync(folder).sort().flatMap((file) => {
        const name = /^(.+)-([^-.]+)\.([a-z]+)\.json$/.exec(file);
        return name ? [{ model: name[1], type: name[2], engine: name[3], record: JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) }] : [];
    });
}

// Columns: every model in every type that was measured.
function columnsOf(all) {
    const order = { f32: 0, f16: 1, bf16: 2 };
    const columns = [...new Set(all.map((a) => `${a.model} ${a.type}`))].map((name) => ({ name, model: name.split(" ")[0], type: name.split(" ")[1] }));
    return columns.sort((a, b) => a.model.localeCompare(b.model, "en", { numeric: true }) || (order[a.type] ?? 9) - (order[b.type] ?? 9) || a.type.localeCompare(b.type));
}

// Results called tg… or pp…, each with where it comes from.
const resultsOf = (all, prefix) => all.flatMap((a) => a.record.results.filter((r) => r.name.startsWith(prefix)).map((r) => ({ ...a, r })));

const faster = (a, b) => (!a || b.r.median > a.r.median ? b : a);

// One line per system: of Solo's ways and of torch.compile's modes the best, which the cell names.
export function lineOf({ engine, record, r }) {
    if (engine === "solo") return { order: 2, line: `Solo, ${r.params.impl}`, note: `\`${[r.params.fuse, r.params.submit].filter(Boolean).join(" ")}\`` };
    if (engine === "torch") {
        const named = { eager: [0, "PyTorch eager (transformers)"], graph: [0.1, "PyTorch eager in a CUDA graph"] }[r.params.variant];
        return named ? { order: named[0], line: named[1], note: "" } : { order: 0.2, line: "torch.compile in a CUDA graph", note: r.params.mode };
    }
    const backend = r.params.backend ?? record.devices?.find((d) => d.is_gpu)?.name.replace(/\d+$/, "") ?? "";
    return { order: 1, line: `${SYSTEMS[engine] ?? engine} ${backend}${r.params.flash ? `, flash attention ${r.params.flash}` : ""}`, note: "" };
}

// One line per engine, for the README: of its variants the best, which the cell names.
function engineOf(found) {
    const { variant, flash } = found.r.params, { order, line, note } = lineOf(found);
    if (found.engine === "torch") return { order: 0, line: SYSTEMS.torch, note: { eager: "eager", graph: "CUDA graph" }[variant] ?? "torch.compile" };
    if (found.engine === "solo") return { order, line, note: `\`${found.r.params.fuse}\`` };
    return { order, line: line.replace(/, flash attention.*/, ""), note: flash === "on" ? "flash attention" : "" };
}

// What a token must read (weights, and the cache at this depth) at the speed of a copy: the most that any of them can reach.
function limitOf(all, column) {
    const here = all.filter((a) => a.model === column.model && a.type === column.type);
    const bytes = here.map((a) => a.record.params?.token_bytes).find(Boolean);
    const speeds = all.flatMap((a) => [a.record.gpu, ...(a.record.gpus ?? [])]).map((g) => g?.copy_gbps).filter(Boolean);
    return bytes && speeds.length ? (Math.max(...speeds) * 1e9) / bytes : undefined;
}

export function systems(all, prefix, limited, named = lineOf) {
    const found = resultsOf(all, prefix), columns = columnsOf(found);
    if (!found.length) return NOTHING;
    const best = new Map(); // line -> column -> result
    for (const f of found) {
        const { order, line, note } = named(f), at = `${f.model} ${f.type}`;
        if (!best.has(line)) best.set(line, { order, cells: {} });
        const cells = best.get(line).cells;
        cells[at] = faster(cells[at], { r: f.r, note });
    }
    const top = Object.fromEntries(columns.map((c) => [c.name, Math.max(...[...best.values()].map((l) => l.cells[c.name]?.r.median ?? 0))]));
    const rows = [...best].sort(([a, x], [b, y]) => x.order - y.order || a.localeCompare(b)).map(([line, { cells }]) => [line, ...columns.map((c) => {
        const cell = cells[c.name];
        if (!cell) return "–";
        const text = cell.r.median === top[c.name] ? `**${figure(cell.r.median)}** [${interval(cell.r).map(figure).join(", ")}]` : spread(cell.r);
        return cell.note ? `${text} ${cell.note}` : text;
    })]);
    const limits = columns.map((c) => limitOf(all, c));
    if (limited && limits.some(Boolean)) rows.push(["memory limit", ...limits.map((l) => (l ? figure(l) : "–"))]);
    return table(["tokens per second", ...columns.map((c) => c.name)], rows);
}

export const LLM_TABLES = {
    llm_machine(all) {
        if (!all.length) return NOTHING;
        const gpu = (all.find((a) => a.record.gpu?.driver) ?? all[0]).record.gpu ?? {}, { host, when } = all.find((a) => a.record.host?.cpu).record;
        const versions = [...new Set(all.flatMap((a) => (a.record.gpus ?? [a.record.gpu]).map((g) => g?.impl_version)).filter(Boolean))];
        const solo = all.find((a) => a.engine === "solo")?.record.solo;
        const commits = [...new Set(all.map((a) => a.record.solo?.commit).filter(Boolean))]; // those of the figures, in the order of the files
        return `${[gpu.device, gpu.driver].filter(Boolean).join(", driver ")}; ${host.cpu}, ${host.cores} cores, ${host.os}; ` +
            `${solo ? `solo ${solo.version} (${commits.join(", ")}), ` : ""}${versions.join("; ")}; ${when.slice(0, 10)}.`;
    },
    llm_headline: (all) => systems(all, "tg", true, engineOf),
    llm_prompt: (all) => systems(all, "pp", false),
    // Every way Solo can launch the same work.
    llm_ladder(all) {
        const found = resultsOf(all.filter((a) => a.engine === "solo"), "tg");
        if (!found.length) return NOTHING;
        return columnsOf(found).map((c) => {
            const here = found.filter((f) => f.model === c.model && f.type === c.type).map((f) => f.r), rows = [];
            for (const impl of [...new Set(here.map((r) => r.params.impl))])
                for (const fuse of FUSES) {
                    const ways = here.filter((r) => r.params.impl === impl && r.params.fuse === fuse);
                    if (!ways.length) continue;
                    const counted = ways.find((r) => r.dispatches), tokens = Number(/\d+/.exec(ways[0].name)?.[0] ?? 1);
                    rows.push([`${impl}, \`${fuse}\``, ...SUBMITS.map((submit) => spread(ways.find((r) => r.params.submit === submit))),
                        counted ? figure(counted.dispatches / tokens) : "–"]);
                }
            return table([c.name, ...SUBMITS.map((s) => `\`${s}\``), "dispatches per token"], rows);
        }).join("\n\n");
    },
    llm_logits(all) {
        const found = all.filter((a) => a.engine === "logits");
        if (!found.length) return NOTHING;
        return table(["model", "type", "largest difference, of the logits' spread", "same best token"], found.map(({ model, type, record }) =>
            [model, type, Math.max(...record.results[0].samples).toExponential(1), record.checks[1].detail]));
    },
    // What was verified before anything was timed.
    llm_checks(all) {
        const found = all.flatMap((a) => (a.record.checks ?? []).filter((c) => !c.ok || /token/.test(c.what)).map((c) => ({ ...a, c })));
        const left = all.flatMap((a) => (a.record.skipped ?? []).map((s) => ({ ...a, c: { what: s.what, detail: `left out: ${s.why}`, ok: true } })));
        if (!found.length && !left.length) return NOTHING;
        return table(["record", "check", "", "detail"], [...found, ...left].map(({ model, type, engine, c }) =>
            [`${model}-${type}.${engine}`, c.what, c.ok ? "" : "**failed**", (c.detail ?? "").replaceAll("|", "/")]));
    },
};
