// Writes the tables in README.md and docs/*.md from the records in results/.
//
//     node tools/tables.mjs           write them
//     node tools/tables.mjs --check   say which are out of date, exit 1 if any
//
// A table stands between `<!-- table NAME RECORD -->` and `<!-- end -->`, where
// NAME is one of those below and RECORD a file in results/, or, for a table of
// tables_llm.mjs, tables_one.mjs, tables_presets.mjs, tables_sim.mjs and tables_web.mjs, a folder of records there.
import { readFileSync, writeFileSync, readdirSync, existsSync } from "node:fs";
import { figure, spread, middle, table } from "./table_text.mjs";
import { LLM_TABLES, recordsIn } from "./tables_llm.mjs";
import { ONE_TABLES } from "./tables_one.mjs";
import { PRESET_TABLES } from "./tables_presets.mjs";
import { SIM_TABLES } from "./tables_sim.mjs";
import { WEB_TABLES } from "./tables_web.mjs";

const SUBMITS = ["sync", "each", "pass", "batch", "one"];
const KERNELS = ["empty", "add", "rmsnorm", "gemv"];
const CALLS = ["encoder", "begin_pass", "set_pipeline", "set_bind_group", "dispatch", "end_pass", "finish", "submit"];

// The difference of two medians with its 95% interval: processes are drawn with replacement,
// then samples within each, as the laboratory itself does.
function difference(a, b) {
    let state = 1;
    const below = (n) => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0), Math.floor((state / 4294967296) * n));
    const median = (v) => { const s = [...v].sort((x, y) => x - y), m = s.length / 2; return (s[Math.ceil(m) - 1] + s[Math.floor(m)]) / 2; };
    const draw = ({ samples, per_process: size }) => {
        const groups = samples.length / size, out = [];
        for (let g = 0; g < groups; g++) {
            const first = below(groups) * size;
            for (let i = 0; i < size; i++) out.push(samples[first + below(size)]);
        }
        return median(out);
    };
    const drawn = Array.from({ length: 2000 }, () => draw(b) - draw(a)).sort((x, y) => x - y);
    return { median: b.median - a.median, ci95: [drawn[50], drawn[1949]] };
}

function find(record, name, params) {
    return record.results.find((r) => r.name === name && Object.entries(params).every(([k, v]) => r.params[k] === v));
}
const implsOf = (record) => record.gpus.map((g) => g.impl);
const realOf = (record) => implsOf(record).filter((impl) => impl !== "stub");

const TABLES = {
    // What this record was measured on.
    machine(record) {
        const g = record.gpus[0];
        return `${g.device}, ${g.driver}; ${record.host.cpu}, ${record.host.cores} cores, ${record.host.os}; ` +
            `solo ${record.solo.version} (${record.solo.commit}), ${record.when.slice(0, 10)}; ` +
            `${record.params.rounds} rounds, ${record.checks[0].detail}, clock step ${figure(record.clock_ns)} ns.`;
    },
    // Cost per dispatch, one kernel: the figure everyone asks for.
    headline(record) {
        return table(["µs per dispatch", ...SUBMITS.map((s) => `\`${s}\``)],
            implsOf(record).map((impl) => [impl, ...SUBMITS.map((submit) => middle(find(record, "dispatch", { impl, submit, kernel: "add" })))]));
    },
    // As `solo bench dispatch` prints it.
    terminal(record) {
        const cell = (r) => (r ? `${figure(r.median)} [${figure(r.ci95[0])} ${figure(r.ci95[1])}]` : "-").padEnd(21);
        const line = (first, cells) => `  ${first.padEnd(11)}${cells.join("")}`.trimEnd();
        return ["```", "WHAT ONE DISPATCH COSTS, in us: slope of time against dispatches [95% interval]", "",
            line("add", SUBMITS.map((s) => s.padEnd(21))),
            ...implsOf(record).map((impl) => line(impl, SUBMITS.map((submit) => cell(find(record, "dispatch", { impl, submit, kernel: "add" }))))),
            "```"].join("\n");
    },
    ladder(record) {
        return KERNELS.map((kernel) => table([`\`${kernel}\``, ...SUBMITS],
            implsOf(record).map((impl) => [impl, ...SUBMITS.map((submit) => spread(find(record, "dispatch", { impl, submit, kernel })))]))).join("\n\n");
    },
    shares(record) {
        const cost = (impl, submit) => find(record, "dispatch", { impl, submit, kernel: "empty" });
        const rows = [];
        for (const impl of ["dawn", "wgpu"])
            for (const submit of SUBMITS.slice(0, 4)) {
                const all = cost(impl, submit), vulkan = cost("vulkan", submit), stub = cost("stub", submit);
                if (all === undefined) continue;
                rows.push([`${impl}, \`${submit}\``, middle(all), spread(difference(vulkan, all)), spread(difference(stub, vulkan)), middle(stub)]);
            }
        return table(["µs per dispatch", "in all", "WebGPU", "Vulkan and device", "harness"], rows);
    },
    host(record) {
        const rows = [];
        for (const submit of ["sync", "each", "batch"])
            for (const impl of implsOf(record)) {
                const calls = CALLS.map((call) => find(record, "host", { impl, submit, call }));
                const wait = find(record, "host", { impl, submit, call: "wait" });
                rows.push([`${impl}, \`${submit}\``, ...calls.map(middle), figure(calls.reduce((sum, r) => sum + r.median, 0)), middle(wait)]);
            }
        return table(["µs per dispatch", ...CALLS.map((c) => c.replaceAll("_", " ")), "sum", "wait"], rows);
    },
    device(record) {
        const rows = [];
        for (const impl of realOf(record))
            for (const submit of ["batch", "one"])
                rows.push([`${impl}, \`${submit}\``, ...KERNELS.map((kernel) => spread(find(record, "device", { impl, submit, kernel })))]);
        return table(["µs per dispatch", ...KERNELS], rows);
    },
    patterns(record) {
        const habits = ["baseline", "bind_group", "param_write", "indirect", "replay"];
        return table(["µs per dispatch", ...habits.map((h) => h.replaceAll("_", " "))],
            realOf(record).map((impl) => [impl, ...habits.map((habit) => spread(find(record, "habit", { impl, habit })))]));
    },
    submits(record) {
        const counts = [...new Set(record.results.filter((r) => r.name === "submits").map((r) => r.params.submits))].sort((a, b) => a - b);
        return table(["µs for 256 dispatches in … submits", ...counts], realOf(record).map((impl) => {
            const all = counts.map((submits) => find(record, "submits", { impl, submits }));
            const best = Math.min(...all.map((r) => r.median));
            return [impl, ...all.map((r) => (r.median === best ? `**${figure(r.median)}**` : figure(r.median)))];
        }));
    },
    safety(record) {
        const rows = [];
        for (const validation of [true, false])
            for (const robustness of [true, false])
                rows.push([validation ? "on" : "off", robustness ? "on" : "off", ...["add", "gemv"].flatMap((kernel) =>
                    ["each", "batch"].map((submit) => spread(find(record, "safety", { validation, robustness, kernel, submit }))))]);
        return table(["validation", "robustness", "add, each", "add, batch", "gemv, each", "gemv, batch"], rows);
    },
    waits(record) {
        return table(["µs per submit and wait", "polling", "blocking"], realOf(record).map((impl) =>
            [impl, ...["polling", "blocking"].map((wait) => spread(find(record, "wait", { impl, wait })))]));
    },
    barriers(record) {
        const counts = [...new Set(record.results.filter((r) => r.name === "barrier").map((r) => r.params.workgroups))].sort((a, b) => a - b);
        return table(["µs per step, by workgroups", ...counts], realOf(record).map((impl) =>
            [impl, ...counts.map((workgroups) => middle(find(record, "barrier", { impl, workgroups })))]));
    },
    claims(record) {
        return table(["claim", "said by", "seen here", "verdict"], record.claims.map((c) => [c.claim, c.said_by, c.here, `**${c.verdict}**`]));
    },
};

const check = process.argv.includes("--check");
let stale = 0;
for (const file of ["README.md", ...readdirSync("docs").filter((f) => f.endsWith(".md")).map((f) => `docs/${f}`)]) {
    if (!existsSync(file)) continue;
    const old = readFileSync(file, "utf8");
    const fresh = old.replace(/(<!-- table (\S+) (\S+) -->\n)[\s\S]*?(<!-- end -->)/g, (all, open, name, source, close) => {
        if (LLM_TABLES[name]) return `${open}${LLM_TABLES[name](recordsIn(`results/${source}`))}\n${close}`;
        if (ONE_TABLES[name]) return `${open}${ONE_TABLES[name](`results/${source}`)}\n${close}`;
        if (PRESET_TABLES[name]) return `${open}${PRESET_TABLES[name](`results/${source}`)}\n${close}`;
        if (SIM_TABLES[name]) return `${open}${SIM_TABLES[name](`results/${source}`)}\n${close}`;
        if (WEB_TABLES[name]) return `${open}${WEB_TABLES[name](`results/${source}`)}\n${close}`;
        if (!TABLES[name]) throw new Error(`${file}: there is no table called ${name}`);
        return `${open}${TABLES[name](JSON.parse(readFileSync(`results/${source}`, "utf8")))}\n${close}`;
    });
    if (fresh === old) continue;
    stale++;
    if (check) console.log(`${file}: its tables are not what results/ says`);
    else {
        writeFileSync(file, fresh);
        console.log(`${file}: tables written`);
    }
}
process.exit(check && stale ? 1 : 0);
