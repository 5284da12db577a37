// node bench/soak.mjs [OPTION]...: a server under mixed load with faults for a set time, whose memory, files, threads and
// memory of the GPU stay flat. `make soak MINUTES=N`.
//
// bench/serve_load.mjs is the load: answers that have to be right, clients that go away, nonsense. Beside it, at random: bodies
// that end half-way, headers without an end, connections that say nothing, connections that are reset, a body that is too large,
// many connections at once, a page of the server itself, and the whole server stopped for half a second. Every ten seconds the
// process is looked at, until the load has ended: the load asks each question alone first, which is not a part of the time. The
// first third is for warming up. Prints a line for each fault and measure; exit status 1 if an answer
// was wrong, if the server did not end well, or if something grew.
//
//   --solo FILE  the program (build/solo)   --minutes N  (20)   --clients N  (8)   --serve "ARGUMENTS"  for the server
//   --json FILE  what was seen, as JSON     --sample S   seconds between looks (10)
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { readOptions } from "./options.mjs";

const options = readOptions("soak.mjs", { solo: "build/solo", minutes: 20, clients: 8, serve: "", json: "", sample: 10 });

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const below = (n) => Math.floor(Math.random() * n);
const wrong = [], faults = {}, samples = [];

// ---- the server ---------------------------------------------------------------------------

let log = "";
const server = spawn(options.solo, ["serve", "--port", "0", "--quiet", ...options.serve.split(" ").filter(Boolean)], { stdio: ["ignore", "pipe", "pipe"] });
server.stderr.on("data", (text) => (log += text));
const ended = new Promise((done) => server.on("exit", (code, signal) => done(code ?? signal)));
const url = await new Promise((done, fail) => {
    server.stdout.once("data", (text) => done(String(text).trim().replace(/\/?$/, "/")));
    ended.then((code) => fail(new Error(`the server ended with ${code}: ${log}`)));
});
const { hostname, port } = new URL(url);

// Of this process on an NVIDIA GPU; elsewhere what a GPU holds is a part of the process's own memory, or not known.
function gpuMib() {
    const { stdout } = spawnSync("nvidia-smi", ["--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"], { encoding: "utf8" });
    const line = stdout?.split("\n").find((l) => Number(l.split(",")[0]) === server.pid);
    return line ? Number(line.split(",")[1]) : undefined;
}

function look() {
    const status = readFileSync(`/proc/${server.pid}/status`, "utf8"), of = (key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(status)[1]);
    return { memory_mib: of("VmRSS") / 1024, threads: of("Threads"), files: readdirSync(`/proc/${server.pid}/fd`).length, gpu_mib: gpuMib() };
}

// ---- faults -------------------------------------------------------------------------------

// A connection that says this, and after some time ends, or is reset.
function say(text, ms, reset) {
    return new Promise((done) => {
        const socket = connect(Number(port), hostname, () => socket.write(text));
        socket.on("error", () => {});
        socket.on("data", () => {});
        socket.on("close", done);
        setTimeout(() => (reset ? socket.resetAndDestroy() : socket.destroy()), ms);
    });
}
const HEAD = `POST /v1/completions HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\n`;
const FAULTS = {
    "a body that ends half-way": () => say(`${HEAD}Content-Length: 1000\r\n\r\n{"prompt": "a`, 50 + below(2000)),
    "headers without an end": () => say(`${HEAD}X-Long: ${"a".repeat(below(20000))}`, 50 + below(2000)),
    "nothing is said": () => say("", below(4000)),
    "a reset in the middle of an answer": () => {
        const body = JSON.stringify({ prompt: "the king", max_tokens: 64, stream: true, ignore_eos: true });
        return say(`${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`, below(1500), true);
    },
    "a body that is too large": () => say(`${HEAD}Content-Length: 99999999\r\n\r\n${"a".repeat(100000)}`, 1000),
    "bytes that are no HTTP": () => say(Buffer.from(Array.from({ length: 3000 }, () => below(256))), 500),
    "forty connections at once": () => Promise.all(Array.from({ length: 40 }, () => say(`${HEAD}\r\n`, below(1000), below(2) === 1))),
    "another name as Host": () => say("GET /v1/models HTTP/1.1\r\nHost: example.org\r\n\r\n", 500),
    "the server stops for half a second": async () => {
        server.kill("SIGSTOP");
        await pause(500);
        server.kill("SIGCONT");
    },
};

// ---- all of it ----------------------------------------------------------------------------

const load = spawn(process.execPath, ["bench/serve_load.mjs", "--url", url, "--clients", String(options.clients), "--seconds", String(options.minutes * 60), "--tokens", "24"], { stdio: ["ignore", "pipe", "pipe"] });
let said = "";
for (const stream of [load.stdout, load.stderr]) stream.on("data", (text) => (said += text));
let loading = true;
const loaded = new Promise((done) => load.on("exit", (code, signal) => done(code ?? signal))).finally(() => (loading = false));

async function sampling() {
    while (loading && server.exitCode === null) {
        samples.push(look());
        await pause(options.sample * 1000);
    }
}
async function breaking() {
    while (loading && server.exitCode === null) {
        const names = Object.keys(FAULTS), name = names[below(names.length)];
        faults[name] = (faults[name] ?? 0) + 1;
        await FAULTS[name]();
        await pause(below(1500));
    }
}
await Promise.all([sampling(), breaking(), loaded]);
if (server.exitCode !== null || server.signalCode) wrong.push(`the server ended by itself: ${server.exitCode ?? server.signalCode}`);
if (await loaded) wrong.push(`the load: ${said}`);

// What stays when everybody has gone.
await pause(3000);
const idle = server.exitCode === null ? look() : {};
server.kill("SIGTERM");
const code = await ended;
if (code !== 0) wrong.push(`the server ended with ${code}`);
if (log) wrong.push(`the server said: ${log}`);

// The last third beside the middle one: medians, since answers that are being made come and go.
const third = Math.floor(samples.length / 3);
const median = (list, key) => list.map((s) => s[key]).sort((a, b) => a - b)[list.length >> 1];
console.log(said.trim());
console.log(`faults: ${Object.entries(faults).map(([name, n]) => `${n}× ${name}`).join("; ")}`);
for (const [key, unit, room] of [["memory_mib", " MiB", 1.03], ["gpu_mib", " MiB", 1.01], ["files", "", 1.25], ["threads", "", 1.25]]) {
    const first = median(samples.slice(third, 2 * third), key), last = median(samples.slice(2 * third), key);
    if (first === undefined) continue;
    const grew = last > first * room + (unit ? 2 : 4);
    console.log(`${key.replace("_mib", "")}: middle third ${first.toFixed(unit ? 1 : 0)}${unit}, last third ${last.toFixed(unit ? 1 : 0)}${unit}, afterwards ${idle[key]?.toFixed(unit ? 1 : 0)}${unit}${grew ? ": grew" : ""}`);
    if (grew) wrong.push(`${key} grew from ${first} to ${last}`);
}
if (third < 2) wrong.push("too short to say what grows: at least six looks");
for (const what of wrong) console.log(`wrong: ${what.slice(0, 2000)}`);
if (options.json) writeFileSync(options.json, JSON.stringify({ minutes: options.minutes, clients: options.clients, faults, samples, idle, wrong }, null, 1) + "\n");
process.exit(wrong.length ? 1 : 0);
