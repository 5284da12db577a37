// The table of every preset and type, from a folder of records as bench/presets.sh leaves it: MODEL-TYPE.solo.json and
// MODEL-TYPE.startup.json.
import { figure, middle, spread, table } from "./table_text.mjs";
import { LLM_TABLES, NOTHING, recordsIn } from "./tables_llm.mjs";

const TYPES = ["f16", "q8_0", "q4_0", "q4_k"];
const fused = (record, prefix, level) => record?.results.find((r) => r.name.startsWith(prefix) && r.params.fuse === level);

// Rows in the order of what a token reads of a preset's smallest file.
function rowsOf(all) {
    const names = [...new Set(all.map((a) => a.model))];
    const size = (model) => Math.min(...all.filter((a) => a.model === model).map((a) => a.record.params.token_bytes ?? Infinity));
    return names.sort((a, b) => size(a) - size(b) || a.localeCompare(b)).flatMap((model) =>
        [...new Set(all.filter((a) => a.model === model).map((a) => a.type))]
            .sort((a, b) => TYPES.indexOf(a) - TYPES.indexOf(b))
            .map((type) => ({ model, type })));
}

export const PRESET_TABLES = {
    presets_machine: (folder) => LLM_TABLES.llm_machine(recordsIn(folder).filter((a) => a.engine === "solo" && a.record.results.length)),
    // Megakernels beside Solo, as bench/megakernels.py leaves them.
    megakernels(folder) {
        const found = recordsIn(folder).filter((a) => a.engine === "megakernels");
        if (!found.length) return NOTHING;
        const rows = found.flatMap(({ model, type, record }) => record.params.depths.map((depth) => {
            const here = record.results.filter((r) => r.params.depth === depth), theirs = here.find((r) => r.params.impl === "megakernels");
            const solo = here.find((r) => r.params.impl !== "megakernels"), same = record.checks.find((c) => c.what === `depth ${depth}: tokens are Solo's`);
            return [`${model} ${type}`, depth, spread(theirs), spread(solo), `${figure(solo.median / theirs.median)}×`, same?.detail ?? "–"];
        }));
        return table(["model", "tokens before", "Megakernels, tok/s", "Solo, `loop`, tok/s", "", "compared"], rows);
    },
    presets(folder) {
        const all = recordsIn(folder).filter((a) => a.engine === "solo" || a.engine === "startup");
        if (!all.length) return NOTHING;
        const reasons = [];
        const rows = rowsOf(all).map(({ model, type }) => {
            const of = (engine) => all.find((a) => a.model === model && a.type === type && a.engine === engine)?.record;
            const solo = of("solo"), startup = of("startup");
            const ops = fused(solo, "tg", "ops"), loop = fused(solo, "tg", "loop"), prompt = fused(solo, "pp", "ops");
            const why = [...(solo?.skipped ?? []), ...(startup?.skipped ?? [])][0]?.why;
            if (!loop && why) reasons.push(`${model} ${type}: ${why.replace(/^solo: /, "")}`);
            const share = (loop ?? ops)?.share_of_copy_bandwidth;
            const text = (run) => middle(startup?.results.find((r) => r.name === "first text" && r.params.run === run));
            return [model, type, middle(ops), middle(loop), share ? `${(100 * share).toFixed(0)}%` : "–", middle(prompt),
                prompt ? figure(prompt.first_token_ms) : "–", `${text("first")} / ${text("second")}`,
                solo?.params.compile_s ? figure(solo.params.compile_s) : "–", solo?.params.gpu_bytes ? figure(solo.params.gpu_bytes / 1e9) : "–"];
        });
        const head = ["model", "type", "`ops`, tok/s", "`loop`, tok/s", "of the memory limit", "prompt, tok/s", "first token, ms",
            "start-up, s: first / second run", "one dispatch compiles, s", "GPU memory, GB"];
        return [table(head, rows), ...reasons].join("\n\n");
    },
};
