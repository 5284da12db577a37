// The tables of docs/sim.md. Each is given a folder of records, as bench/sim.sh leaves them: builtin-SIM.json, or builtin.json with every
// built-in simulation, solo-IMPL-SIM.json, cuda-[fast-][loops-]SIM.json, frameworks-SIM.json, whole-STEPS.json, steps-N.json, population-N.json.
// Whatever is not there is left out of a table, or the table says that nothing is.
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { figure, table } from "./table_text.mjs";
import { NOTHING } from "./tables_llm.mjs";

const SUBMITS = ["batch", "pass", "each", "sync"];
const read = (path) => JSON.parse(readFileSync(path, "utf8"));
const named = (folder, pattern) => (existsSync(folder) ? readdirSync(folder) : []).flatMap((file) => {
    const match = file.match(pattern);
    return match ? [{ file, match, record: read(`${folder}/${file}`) }] : [];
});
const ms = (r) => (r ? figure(1e3 / r.median) : "–");
const slower = (r, fused) => (r && fused ? `${figure(fused.median / r.median)}×` : "–");
const way = (record, sim, fuse, submit) => record.results.find((r) => r.params.sim === sim && r.params.fuse === fuse && (!submit || r.params.submit === submit));
const simsOf = (record) => [...new Set(record.results.map((r) => r.params.sim))];

// The points of a sweep in order of what changes.
export function simPoints(folder, what) {
    const key = what === "steps" ? "steps" : "population";
    return named(folder, new RegExp(`^${what}-(\\d+)\\.json$`)).sort((a, b) => a.match[1] - b.match[1]).map(({ record }) => {
        const [first] = record.results;
        return { at: first.params[key], sim: first.params.sim, other: first.params[key === "steps" ? "population" : "steps"],
            fused: way(record, first.params.sim, "loop"), batch: way(record, first.params.sim, "none", "batch"), record };
    });
}

// What ran a simulation, one line each: {line, sim, r}.
function systemsIn(folder) {
    const NAMES = { numpy: "NumPy (CPU)", torch: "PyTorch eager", "compile-step": "torch.compile of a step", "compile-graph": "torch.compile with CUDA graphs", jax: "JAX scan + vmap" };
    const lines = [];
    for (const { match, record } of named(folder, /^solo-(\w+)-\w+\.json$/))
        for (const r of record.results)
            lines.push({ order: r.params.fuse === "loop" ? 0 : 10 + SUBMITS.indexOf(r.params.submit), sim: r.params.sim, r,
                line: `Solo, ${match[1]}, ${r.params.fuse === "loop" ? "one dispatch" : `a dispatch for each step, \`${r.params.submit}\``}` });
    for (const { match, record } of named(folder, /^cuda-(fast-)?(loops-)?\w+\.json$/))
        for (const r of record.results) {
            const line = `CUDA by hand${match[1] ? ", approximate functions" : ""}${match[2] ? ", loops kept" : ""}`;
            lines.push({ order: 1 + (match[1] ? 2 : 0) + (match[2] ? 1 : 0), sim: r.params.sim, r, line });
        }
    for (const { record } of named(folder, /^frameworks-\w+\.json$/))
        for (const r of record.results) lines.push({ order: 20 + Object.keys(NAMES).indexOf(r.params.engine), sim: r.params.sim, r, line: NAMES[r.params.engine] ?? r.params.engine });
    return lines;
}

// What did not hold, below a table.
const failedChecks = (records) => [...new Set(records.flatMap(({ record }) => record.checks.filter((c) => !c.ok).map((c) => `Did not hold: ${c.what} (${c.detail}).`)))];

export const SIM_TABLES = {
    sim_machine(folder) {
        const [{ record } = {}] = named(folder, /^(builtin.*|solo-.*|steps-.*|population-.*)\.json$/);
        if (!record) return NOTHING;
        const g = record.gpu;
        return `${g.device}, ${g.driver}, ${g.impl}; ${record.host.cpu}, ${record.host.cores} cores; solo ${record.solo.version} (${record.solo.commit}), ` +
            `${record.when.slice(0, 10)}; medians of ${record.params.repetitions}.`;
    },
    sim_builtin(folder) {
        const records = named(folder, /^builtin(-\w+)?\.json$/), results = records.flatMap(({ record }) => record.results), record = { results };
        if (!results.length) return NOTHING;
        return [table(["simulation", "population", "steps", "one dispatch, ms", ...SUBMITS.map((s) => `\`${s}\``)], simsOf(record).map((sim) => {
            const fused = way(record, sim, "loop"), { population, steps } = results.find((r) => r.params.sim === sim).params;
            return [sim, population, steps, ms(fused), ...SUBMITS.map((s) => slower(way(record, sim, "none", s), fused))];
        })), ...failedChecks(records)].join("\n\n");
    },
    sim_systems(folder) {
        const lines = systemsIn(folder);
        if (!lines.length) return NOTHING;
        const sims = [...new Set(lines.map((l) => l.sim))].sort();
        const best = Object.fromEntries(sims.map((sim) => [sim, lines.find((l) => l.sim === sim && l.order === 0)?.r]));
        const cell = (r, sim) => (r ? `${ms(r)}${best[sim] && r !== best[sim] ? ` (${slower(r, best[sim])})` : ""}` : "–");
        const names = [...new Map(lines.sort((a, b) => a.order - b.order).map((l) => [l.line, l])).keys()];
        const size = (sim) => { const { population, steps } = lines.find((l) => l.sim === sim).r.params; return `${sim}, ${population} × ${steps}`; };
        const leftOut = named(folder, /^frameworks-\w+\.json$/).filter(({ record }) => record.params.left_out.length)
            .map(({ record }) => `Left out of ${record.params.sim}: ${record.params.left_out.join("; ")}.`);
        return [table(["ms for a population (times Solo's one dispatch)", ...sims.map(size)],
            names.map((line) => [line, ...sims.map((sim) => cell(lines.find((l) => l.line === line && l.sim === sim)?.r, sim))])), ...leftOut, ...failedChecks(named(folder, /^(solo|cuda|frameworks)-.*\.json$/))].join("\n\n");
    },
    // That all computed the same: mean scores side by side.
    sim_scores(folder) {
        const lines = systemsIn(folder).filter((l) => l.r.mean_score !== undefined);
        if (!lines.length) return NOTHING;
        const sims = [...new Set(lines.map((l) => l.sim))].sort();
        return table(["mean score", ...sims], [...new Set(lines.sort((a, b) => a.order - b.order).map((l) => l.line))].map((line) =>
            [line, ...sims.map((sim) => lines.find((l) => l.line === line && l.sim === sim)?.r.mean_score.toPrecision(5) ?? "–")]));
    },
    sim_whole(folder) {
        const points = named(folder, /^whole-(\d+)\.json$/).sort((a, b) => a.match[1] - b.match[1]);
        if (!points.length) return NOTHING;
        return table(["steps in one function", "until the first result, s", "then, ms", "what happened"], points.map(({ record }) => {
            const [r] = record.results;
            return [r.params.steps, figure(r.median), r.then_seconds ? figure(1e3 * r.then_seconds) : "–", r.failed ? r.failed.replaceAll("|", "/") : "it ran"];
        }));
    },
    sim_steps: (folder) => sweep(folder, "steps"),
    sim_population: (folder) => sweep(folder, "population"),
    sim_steps_picture: (folder) => picture(folder, "steps", "sim-steps.svg", "Time of a run against its number of steps"),
    sim_population_picture: (folder) => picture(folder, "population", "sim-population.svg", "Time of a run against the size of the population"),
};

function sweep(folder, what) {
    const points = simPoints(folder, what);
    if (!points.length) return NOTHING;
    return table([what, "one dispatch, ms", "a dispatch for each step (`batch`), ms", "gain"], points.map((p) => [p.at, ms(p.fused), ms(p.batch), slower(p.batch, p.fused)]));
}

const picture = (folder, what, file, words) => (simPoints(folder, what).length > 1 ? `![${words}](${file})` : NOTHING);
