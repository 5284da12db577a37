// The tables and pictures of docs/megakernel.md. Each is given a folder of records, in which bench/llm.sh left those of all
// engines and bench/one.sh those of its sweeps.
import { figure, spread, table } from "./table_text.mjs";
import { LLM_TABLES, NOTHING, lineOf, recordsIn, systems } from "./tables_llm.mjs";
import { gainOf, limitOf, placeOf, pointsOf } from "./sweeps.mjs";

const SWEEPS = ["depth", "groups", "size"];
const LEVELS = ["none", "ops", "token", "loop"];
const times = (gain) => (gain ? `${gain.toFixed(2)}×` : "–");

// Solo has a line for each level, and the best submit policy of that.
function lineOfLevel(found) {
    if (found.engine !== "solo") return lineOf(found);
    const { impl, fuse, submit, workgroups } = found.r.params;
    return { order: 2 + LEVELS.indexOf(fuse) / 10, line: `Solo, ${impl}, \`${fuse}\``, note: workgroups ? `${workgroups} workgroups` : `\`${submit}\`` };
}

function sweepTable(folder, sweep, head, cells) {
    const points = pointsOf(folder, sweep);
    return points.length ? table(head, points.map(cells)) : NOTHING;
}

// The picture is another script's; here only whether there is one.
const picture = (sweep, file, words) => (folder) => (pointsOf(folder, sweep).length ? `![${words}](${file})` : NOTHING);

export const ONE_TABLES = {
    one_machine(folder) {
        const swept = SWEEPS.flatMap((sweep) => pointsOf(folder, sweep)).map(({ record }) => ({ engine: "solo", record }));
        return LLM_TABLES.llm_machine([...recordsIn(folder), ...swept]);
    },
    one_systems: (folder) => systems(recordsIn(folder), "tg", true, lineOfLevel),
    one_depth: (folder) => sweepTable(folder, "depth", ["tokens before", "`ops`", "`loop`", "gain", "memory limit"], (p) =>
        [placeOf("depth", p), spread(p.ways.ops), spread(p.ways.loop), times(gainOf(p)), limitOf(p) ? figure(limitOf(p)) : "–"]),
    one_workgroups: (folder) => sweepTable(folder, "groups", ["workgroups", "threads of each", "tokens per second"], (p) =>
        [`${placeOf("groups", p)}${p.where === "free" ? " (its own choice)" : ""}`, p.ways.loop.params.threads ?? "–", spread(p.ways.loop)]),
    one_size: (folder) => sweepTable(folder, "size", ["model", "MB per token", "`ops`", "`loop`", "gain", "of the memory limit"], (p) =>
        [p.where, figure(placeOf("size", p) / 1e6), spread(p.ways.ops), spread(p.ways.loop), times(gainOf(p)),
            limitOf(p) && p.ways.loop ? `${((100 * p.ways.loop.median) / limitOf(p)).toFixed(0)}%` : "–"]),
    // That one dispatch made the same tokens, in every point of every sweep.
    one_checks(folder) {
        const rows = SWEEPS.flatMap((sweep) => pointsOf(folder, sweep).flatMap((p) => p.record.checks.filter((c) => !c.ok || /token/.test(c.what)).map((c) =>
            [`${sweep}-${p.where}`, c.what, c.ok ? "" : "**failed**", (c.detail ?? "").replaceAll("|", "/")])));
        return rows.length ? table(["record", "check", "", "detail"], rows) : NOTHING;
    },
    one_depth_picture: picture("depth", "one-depth.svg", "Tokens per second against the depth of the context, by fused operators and by one dispatch"),
    one_workgroups_picture: picture("groups", "one-workgroups.svg", "Tokens per second against the number of workgroups of one dispatch"),
    one_size_picture: picture("size", "one-size.svg", "Tokens per second of models of different sizes, by fused operators and by one dispatch"),
};
