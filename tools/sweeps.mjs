// The points of a sweep as bench/one.sh leaves them: FOLDER/SWEEP-WHERE.json, each a record of `solo bench llm`.
import { readFileSync, readdirSync, existsSync } from "node:fs";

// The points of a sweep in order: {where, record, ways}; `ways` has the result of each fusion level.
export function pointsOf(folder, sweep) {
    if (!existsSync(folder)) return [];
    const points = readdirSync(folder).filter((f) => f.startsWith(`${sweep}-`) && f.endsWith(".json")).map((file) => {
        const record = JSON.parse(readFileSync(`${folder}/${file}`, "utf8")), ways = {};
        for (const r of record.results) if (r.name.startsWith("tg")) ways[r.params.fuse] ??= r;
        return { where: file.slice(sweep.length + 1, -".json".length), record, ways };
    });
    return points.sort((a, b) => placeOf(sweep, a) - placeOf(sweep, b) || a.where.localeCompare(b.where));
}

// What a sweep changes, as a number.
export function placeOf(sweep, point) {
    if (sweep === "depth") return point.record.params.depth;
    if (sweep === "groups") return point.ways.loop.params.workgroups;
    return point.record.params.token_bytes;
}

// Tokens per second that the speed of a copy allows.
export function limitOf({ record }) {
    return record.gpu.copy_gbps > 0 ? (record.gpu.copy_gbps * 1e9) / record.params.token_bytes : undefined;
}

export const gainOf = ({ ways }) => (ways.ops && ways.loop ? ways.loop.median / ways.ops.median : undefined);
