// What the page of bench/soak_page.mjs comes from: its options and its chance, the files and their servers, and what the native
// program says.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { missing } from "../tests/web/browsers.mjs";
import { serve } from "../tests/web/server.mjs";
import { readOptions } from "./options.mjs";

export const options = readOptions("soak_page.mjs", { minutes: 20, browser: "chromium", json: "", sample: 5, solo: "build/solo", page: "build/web", only: ".", seed: 0 });
if (missing(options.browser)) {
    console.error(`soak_page.mjs: ${missing(options.browser)}`);
    process.exit(2);
}
const MODEL = "models/builtin.gguf";
export const PROMPTS = ["Once upon a time", "The king said", "There was a girl who", "In the deep forest", "The youngest of the three brothers"];

export const pause = (ms) => new Promise((done) => setTimeout(done, ms));
let state = options.seed || Date.now() % 2 ** 31;
console.log(`seed ${state}`);
const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32; // so that it can be had again
export const below = (n) => Math.floor(random() * n), oneOf = (list) => list[below(list.length)];
export const wrong = [], trail = []; // what was wrong; what was done last
export function amiss(what) {
    console.log(`wrong: ${what.slice(0, 1000)} (after: ${trail.join("; ")})`);
    wrong.push(what);
}
export function same(got, wanted, what) {
    if (got !== wanted) throw new Error(`${what}: ${JSON.stringify(got)} instead of ${JSON.stringify(wanted)}`);
}

/** In the page's worker, before anything else of it: what is there of a GPU's buffers and of programs' memories; a way to lose the GPU. */
function watch() {
    const devices = new Set(), of = new WeakMap(), memories = [], free = GPUBuffer.prototype.destroy;
    const { createBuffer } = GPUDevice.prototype, { instantiate } = WebAssembly;
    GPUDevice.prototype.createBuffer = function (wanted) {
        const made = createBuffer.call(this, wanted);
        let mine = of.get(this);
        if (!mine) {
            of.set(this, (mine = { buffers: 0, bytes: 0, device: this }));
            devices.add(mine);
            this.lost.then(() => devices.delete(mine));
        }
        mine.buffers++;
        mine.bytes += made.size;
        of.set(made, mine);
        return made;
    };
    GPUBuffer.prototype.destroy = function () {
        const mine = of.get(this);
        of.delete(this);
        if (mine) {
            mine.buffers--;
            mine.bytes -= this.size;
        }
        free.call(this);
    };
    WebAssembly.instantiate = async (...args) => {
        const made = await instantiate.apply(WebAssembly, args), memory = (made.instance ?? made).exports.memory;
        if (memory) memories.push(new WeakRef(memory));
        return made;
    };
    globalThis.soakLose = () => [...devices].sort((a, b) => b.bytes - a.bytes)[0].device.destroy(); // the model's
    globalThis.soakCounts = () => {
        globalThis.gc?.();
        const live = memories.map((m) => m.deref()?.buffer.byteLength).filter(Boolean), sum = (key) => [...devices].reduce((all, d) => all + d[key], 0);
        return { devices: devices.size, gpu_buffers: sum("buffers"), gpu_mib: sum("bytes") / 2 ** 20, programs: live.length, wasm_mib: live.reduce((a, b) => a + b, 0) / 2 ** 20 };
    };
}

export const folder = mkdtempSync(join(tmpdir(), "solo-soak-"));
const site = join(folder, "web"), file = (name) => join(folder, name);
cpSync(options.page, site, { recursive: true });
writeFileSync(join(site, "worker.js"), `${readFileSync(join(site, "worker.js"), "utf8")}(${watch})();\n`); // it is before the first message

export const whole = readFileSync(MODEL), hostile = Buffer.from(whole.subarray(0, 600_000));
writeFileSync(file("half.gguf"), whole.subarray(0, whole.length / 2));
writeFileSync(file("page.gguf"), "<!doctype html>\n".repeat(1000));
export function writeHostile() { // another one each time: what its header says is damaged
    hostile.set(whole.subarray(0, hostile.length));
    for (let i = 0; i < 20; i++) hostile[8 + below(i < 4 ? 16 : 4000)] = below(256);
    writeFileSync(file("hostile.gguf"), hostile);
}
writeHostile();
export const far = await serve(folder, { models: { "tale.gguf": MODEL, "half.gguf": file("half.gguf"), "page.gguf": file("page.gguf"), "hostile.gguf": file("hostile.gguf") }, open: true, isolated: false });

const port = await new Promise((done) => {
    const socket = createServer().listen(0, "127.0.0.1", () => {
        const { port } = socket.address();
        socket.close(() => done(port));
    });
});
export const url = `http://localhost:${port}`;
export let server = null, log = "";
export async function startServer() {
    const mine = (server = spawn(options.solo, ["serve", "--port", String(port), "-c", "512", "--quiet", "--page", site], { stdio: ["ignore", "pipe", "pipe"] }));
    mine.ended = new Promise((done) => mine.on("exit", (code, signal) => done(code ?? signal)));
    mine.stderr.on("data", (text) => (log += text));
    await Promise.race([new Promise((done) => mine.stdout.once("data", done)), mine.ended.then((code) => Promise.reject(new Error(`the server ended with ${code}: ${log}`)))]);
}
await startServer();

// What the native program says, one prompt after the other.
export const texts = {};
for (const prompt of PROMPTS) {
    const { status, stdout, stderr } = spawnSync(options.solo, ["run", "-p", prompt, "-n", "120", "--fuse", "ops"], { encoding: "utf8" });
    if (status !== 0 || !stdout.startsWith(prompt)) throw new Error(`solo run ended with ${status}: ${stdout}${stderr}`);
    texts[prompt] = stdout.slice(prompt.length);
}
