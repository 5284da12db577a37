// What a browser costs: the same measurements natively (Dawn), in Node, in Deno, in Chromium and in Firefox, on the same
// Vulkan driver.
//
//     node bench/web.mjs -o FOLDER [--only native,node,deno,chromium,firefox] [--long] [--rounds N]
//
// Leaves FOLDER/NAME.dispatch.json and FOLDER/NAME.llm.json, one after the other: figures of different hosts are from
// different runs. Wants build/solo and build/web; Chromium's driver is SOLO_VULKAN_DRIVER's, or lavapipe.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { missing, open } from "../tests/web/browsers.mjs";
import { serve } from "../tests/web/server.mjs";
import { recordText } from "../tools/record_layout.mjs";

const args = process.argv.slice(2), value = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
const folder = value("-o"), only = value("--only", "native,node,deno,chromium,firefox").split(","), long = args.includes("--long");
const rounds = Number(value("--rounds", 0)); // of the laboratory, to see that it works; 0: as many as usual
const dispatch = { quick: !long, rounds, processes: rounds ? 1 : 0 };
if (!folder) {
    console.error("usage: node bench/web.mjs -o FOLDER [--only LIST] [--long] [--rounds N]");
    process.exit(2);
}
mkdirSync(folder, { recursive: true });
const LLM = { tokens: 16, depth: 16, repetitions: rounds || (long ? 9 : 5) };
const keep = (name, what, record) => writeFileSync(join(folder, `${name}.${what}.json`), recordText(record));

function native() {
    const run = (...words) => JSON.parse(execFileSync("build/solo", [...words, "--json", "-"], { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] }));
    keep("native", "dispatch", run("bench", "dispatch", "--impl", "dawn,stub", ...(long ? [] : ["--quick"]), ...(rounds ? ["--rounds", rounds, "--processes", 1] : [])));
    keep("native", "llm", run("bench", "llm", "--impl", "dawn", "--fuse", "none,ops,token,loop", "--submit", "batch", "-p", "0", "-n", LLM.tokens, "-d", LLM.depth, "-r", LLM.repetitions));
}

function inHost(name, ...command) {
    const [record, llm] = JSON.parse(execFileSync(command[0], [...command.slice(1), "bench/web_host.mjs", JSON.stringify({ dispatch, ...LLM })], { maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "ignore"] }));
    keep(name, "dispatch", record);
    keep(name, "llm", llm);
}

async function inBrowser(name) {
    const server = await serve("build/web"), browser = await open(name);
    await browser.goto(`${server.url}/package.json`);
    await browser.evaluate((options) => {
        globalThis.records = null;
        (async () => {
            const { Solo } = await import("/solo.js");
            const solo = await Solo.load({ context: 64 });
            const { dispatch, ...llm } = options;
            const record = await solo.benchDispatch(dispatch);
            globalThis.records = [record, await solo.benchLlm(llm)];
        })().catch((error) => (globalThis.records = [String(error), ""]));
    }, { dispatch, ...LLM });
    const [record, llm] = await browser.until(() => globalThis.records, 900_000);
    await browser.close();
    server.close();
    if (!record.results) throw new Error(`${name}: ${record}${llm}`);
    keep(name, "dispatch", record);
    keep(name, "llm", llm);
}

for (const name of only) {
    console.error(`measuring: ${name}`);
    if (name === "native") native();
    else if (name === "node") inHost(name, "node");
    else if (name === "deno") inHost(name, "tests/oracle/node_modules/@deno/linux-x64-glibc/deno", "run", "-A", "--no-lock", "--node-modules-dir=none");
    else if (missing(name)) console.error(`${name}: ${missing(name)}`);
    else await inBrowser(name);
}
process.exit(0);
