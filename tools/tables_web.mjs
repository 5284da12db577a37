// The tables of docs/web.md, from a folder of records that bench/web.mjs left.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { middle, spread, table } from "./table_text.mjs";

const HOSTS = ["native", "node", "deno", "chromium", "firefox"];
const SUBMITS = ["sync", "each", "pass", "batch", "one"], LEVELS = ["none", "ops", "token", "loop"];
const NONE = "Not measured yet.";

function recordsOf(folder, what) {
    const path = (host) => join(folder, `${host}.${what}.json`);
    return HOSTS.filter((host) => existsSync(path(host))).map((host) => ({ host, record: JSON.parse(readFileSync(path(host), "utf8")) }));
}
const isReal = (r) => r.params.impl !== "stub";
const nameOf = ({ host, record }) => (host === "native" ? `native, ${record.gpu.impl}` : `${record.host.page}`);

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
        const rate = (record, level) => record.results.find((r) => r.params.fuse === level);
        return table(["tokens per second", ...LEVELS.map((l) => `\`${l}\``)], all.map((one) => [nameOf(one), ...LEVELS.map((level) => spread(rate(one.record, level)))]));
    },
    web_machine(folder) {
        const all = recordsOf(folder, "dispatch");
        if (!all.length) return NONE;
        const { gpu, host, solo, when } = all[0].record;
        return `${gpu.device}, ${gpu.driver}; ${host.cpu}, ${host.cores} cores; solo ${solo.version} (${solo.commit}), ${when.slice(0, 10)}. Clock steps, ns: ` +
            `${all.map((one) => `${nameOf(one)} ${middle({ median: one.record.clock_ns })}`).join(", ")}.`;
    },
};
