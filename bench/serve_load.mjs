// node bench/serve_load.mjs [OPTION]...: many clients of `solo serve` at once, some of which go away or ask nonsense.
//
// Every answer has to be complete, and the same as when nobody else was served: each prompt and seed is asked for alone first. A
// refusal has to be one in OpenAI's form. At the end no place may be taken, and the server has to end well. Prints what was seen;
// exit status 1 if anything was wrong.
//
//   --solo FILE      the program (build/solo)          --model MODEL     (the built-in one)
//   --clients N      at a time (32)                    --seconds S       how long (60)
//   --gone SHARE     clients that go away (0.33)       --bad SHARE       malformed requests between (0.1)
//   --words N        of a prompt (20)                  --tokens N        of an answer (32)
//   --parallel N, --queue N, --serve "ARGUMENTS"       for the server    --url URL         a server that runs already
//   --json FILE      what was seen, as JSON
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { readOptions } from "./options.mjs";

const options = readOptions("serve_load.mjs", { solo: "build/solo", model: "", clients: 32, seconds: 60, gone: 0.33, bad: 0.1, words: 20, tokens: 32, parallel: 4, queue: 64, serve: "", url: "", json: "" });

const pause = (ms) => new Promise((done) => setTimeout(done, ms));
const wrong = [];
const seen = { answers: 0, tokens: 0, gone: 0, refused: 0, busy: 0 }, firsts = [];
let server, log = "";

async function start() {
    if (options.url) return options.url.replace(/\/?$/, "/");
    const args = ["serve", ...(options.model ? [options.model] : []), "--port", "0", "--quiet", "--parallel", options.parallel, "--queue", options.queue, ...options.serve.split(" ").filter(Boolean)];
    server = spawn(options.solo, args.map(String), { stdio: ["ignore", "pipe", "pipe"] });
    server.stderr.on("data", (text) => (log += text));
    server.ended = new Promise((done) => server.on("exit", (code, signal) => done(code ?? signal)));
    return await new Promise((done, fail) => {
        server.stdout.once("data", (text) => done(String(text).trim()));
        server.ended.then((code) => fail(new Error(`the server ended with ${code}: ${log}`)));
    });
}

const WORDS = "the king a castle his daughter three sons gold forest night wolf bird sea old young went said saw under over deep bright".split(" ");
const QUESTIONS = Array.from({ length: 12 }, (_, i) => ({ prompt: Array.from({ length: 1 + ((i * 7) % options.words) }, (_, k) => WORDS[(i * 31 + k * (i + 3)) % WORDS.length]).join(" "),
    seed: i, temperature: i % 3 ? 1 : 0, max_tokens: options.tokens, ignore_eos: true, ...(i % 4 === 3 ? { logprobs: 1 } : {}) }));
const NONSENSE = ["{", "[]", '{"prompt": 5}', '{"prompt": "a", "n": 0}', '{"prompt": "a", "unknown": 1}', '{"prompt": "a", "temperature": "hot"}', "\u0000\u0001", `{"prompt": ${"[".repeat(5000)}`];

const post = (url, body, signal) => fetch(`${url}v1/completions`, { method: "POST", headers: { "content-type": "application/json" }, body, signal });

// The text of a stream, and when its first token came; "gone" if it was left after `leave_ms`.
async function stream(url, question, leave_ms) {
    const abort = new AbortController(), began = performance.now();
    const timer = leave_ms === undefined ? undefined : setTimeout(() => abort.abort(), leave_ms);
    try {
        const reply = await post(url, JSON.stringify({ ...question, stream: true, stream_options: { include_usage: true } }), abort.signal);
        if (reply.status === 429) {
            await reply.text();
            return { busy_s: Number(reply.headers.get("retry-after")) };
        }
        if (reply.status !== 200) return { fault: `${reply.status} ${await reply.text()}` };
        let all = "", first_ms;
        for await (const piece of reply.body.pipeThrough(new TextDecoderStream())) {
            first_ms ??= performance.now() - began;
            all += piece;
        }
        const events = all.split("\n\n").filter(Boolean).map((e) => e.replace(/^data: /, "")), last = events.pop();
        if (last !== "[DONE]") return { fault: `the stream ended with ${last}` };
        const chunks = events.filter((e) => !e.startsWith(":")).map((e) => JSON.parse(e)), fault = chunks.find((c) => c.error);
        if (fault) return { fault: JSON.stringify(fault) };
        const usage = chunks.at(-1).usage, text = chunks.map((c) => c.choices[0]?.text ?? "").join("");
        if (!usage || !chunks.some((c) => c.choices[0]?.finish_reason)) return { fault: "the answer is not complete" };
        return { text, tokens: usage.completion_tokens, first_ms };
    } catch (error) {
        return abort.signal.aborted ? { gone: true } : { fault: `${error} ${error.cause ?? ""}` };
    } finally {
        clearTimeout(timer);
    }
}

async function client(url, alone, until) {
    while (performance.now() < until) {
        if (Math.random() < options.bad) {
            const reply = await post(url, NONSENSE[Math.floor(Math.random() * NONSENSE.length)]).catch((error) => ({ status: String(error), text: () => "" }));
            const text = await reply.text();
            if (reply.status !== 400 || !JSON.parse(text).error.message) wrong.push(`nonsense got ${reply.status} ${text}`);
            seen.refused++;
        }
        const which = Math.floor(Math.random() * QUESTIONS.length);
        const got = await stream(url, QUESTIONS[which], Math.random() < options.gone ? Math.random() * 500 : undefined);
        if (got.busy_s !== undefined) {
            seen.busy++;
            await pause(1000 * Math.min(got.busy_s, 2) * Math.random());
        } else if (got.gone) seen.gone++;
        else if (got.fault) wrong.push(got.fault);
        else {
            seen.answers++;
            seen.tokens += got.tokens;
            firsts.push(got.first_ms);
            if (got.text !== alone[which]) wrong.push(`question ${which}: '${got.text}' instead of '${alone[which]}'`);
        }
    }
}

const memory_mib = () => server && Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))[1]) / 1024;

const url = await start(), alone = [];
for (const question of QUESTIONS) {
    const got = await stream(url, question);
    if (got.fault) wrong.push(`alone: ${got.fault}`);
    alone.push(got.text);
}
const before_mib = memory_mib(), began = performance.now();
await Promise.all(Array.from({ length: options.clients }, () => client(url, alone, began + 1000 * options.seconds)));
const took_s = (performance.now() - began) / 1000;
for (let i = 0; ; i++) {
    const health = await (await fetch(`${url}health`)).json();
    if (health.running + health.waiting === 0) break;
    if (i === 100) {
        wrong.push(`places are still taken: ${JSON.stringify(health)}`);
        break;
    }
    await pause(100);
}
const after_mib = memory_mib();
if (server) {
    server.kill("SIGTERM");
    const code = await server.ended;
    if (code !== 0) wrong.push(`the server ended with ${code}`);
    if (log) wrong.push(`the server said: ${log}`);
}
if (!seen.answers) wrong.push("there was no answer");

firsts.sort((a, b) => a - b);
const quantile = (p) => firsts[Math.min(firsts.length - 1, Math.floor(p * firsts.length))];
const result = { ...seen, seconds: took_s, tokens_per_second: seen.tokens / took_s, first_token_ms: { p50: quantile(0.5), p99: quantile(0.99) }, memory_mib: { before: before_mib, after: after_mib }, clients: options.clients, wrong: wrong.length };
console.log(`${seen.answers} answers, ${seen.tokens} tokens in ${took_s.toFixed(1)} s: ${result.tokens_per_second.toFixed(1)} tok/s; first token p50 ${quantile(0.5)?.toFixed(0)} ms, p99 ${quantile(0.99)?.toFixed(0)} ms`);
console.log(`${seen.gone} went away, ${seen.refused} asked nonsense, ${seen.busy} were sent away by a full queue${server ? `; memory ${before_mib.toFixed(0)} MiB before, ${after_mib.toFixed(0)} after` : ""}`);
for (const what of [...new Set(wrong)].slice(0, 10)) console.log(`wrong: ${what.slice(0, 400)}`);
if (options.json) writeFileSync(options.json, JSON.stringify(result, null, 1) + "\n");
process.exit(wrong.length ? 1 : 0);
