// node bench/collect_cost.mjs [RECORD]...: instructions that a collector needs for a record, from its request to its answer.
//
// Counted by valgrind (--tool=callgrind), so they do not depend on what else the machine does: a few records and many are
// sent, one after the other, and the difference is divided. Environment: SOLO (build/solo).
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FEW = 4, MANY = 24, { SOLO = "build/solo" } = process.env;
const records = process.argv.length > 2 ? process.argv.slice(2) : ["results/h200/sim/builtin-pi.json", "results/h200/web/tab.dispatch.json"];

/** Instructions of a collector that gets so many variants of it. */
async function count(file, times) {
    const folder = mkdtempSync(join(tmpdir(), "solo-cost-"));
    try {
        const server = spawn("valgrind", ["--tool=callgrind", `--callgrind-out-file=${join(folder, "out")}`, SOLO, "collect", "--db", join(folder, "db"), "--port", "0", "--rate", "0"], { stdio: ["ignore", "pipe", "pipe"] });
        let said = "";
        server.stderr.on("data", (text) => (said += text));
        const ended = new Promise((done) => server.on("exit", done));
        const url = await Promise.race([new Promise((done) => server.stdout.once("data", (text) => done(String(text).trim()))), ended.then(() => Promise.reject(new Error(said)))]);
        const text = JSON.stringify(JSON.parse(readFileSync(file, "utf8"))), [before, after] = text.split(/(?<="when":")[^"]*/);
        for (let i = 0; i < times; i++) {
            const body = before + new Date((1.7e9 + i) * 1000).toISOString().slice(0, 19) + "Z" + after;
            const reply = await fetch(`${url}api/records`, { method: "POST", headers: { "content-type": "application/json" }, body });
            if (reply.status !== 201) throw new Error(`${file}: ${reply.status} ${await reply.text()}`);
            await reply.text();
        }
        server.kill("SIGTERM");
        await ended;
        return Number(/Collected : (\d+)/.exec(said)[1]);
    } finally {
        rmSync(folder, { recursive: true, force: true });
    }
}

for (const file of records) {
    const each = ((await count(file, MANY)) - (await count(file, FEW))) / (MANY - FEW);
    console.log(`${file}, ${readFileSync(file).length} bytes: ${(each / 1e6).toFixed(1)} million instructions`);
}
