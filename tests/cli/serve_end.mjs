// node tests/cli/serve_end.mjs URL KEY PID: a server that is told to end finishes what it answers, and takes no more.
const [url, key, pid] = process.argv.slice(2);
const ask = (more) => fetch(`${url}v1/completions`, { method: "POST", headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ prompt: "Once", max_tokens: 100, ignore_eos: true, ...more }) });
const whole = ask().then((reply) => reply.json()), stream = ask({ stream: true }).then((reply) => reply.text());
const { hostname, port } = new URL(url); // someone who never sends what was announced
const slow = (await import("node:net")).connect(port, hostname === "localhost" ? "127.0.0.1" : hostname).on("error", () => {});
slow.write(`POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n`);
await new Promise((done) => setTimeout(done, 300));
process.kill(Number(pid), "SIGTERM");
await new Promise((done) => setTimeout(done, 300));
const late = await ask().then((reply) => reply.status, () => "refused");
const usage = (await whole).usage?.completion_tokens, ended = (await stream).endsWith("data: [DONE]\n\n");
console.log(usage === 100 && ended ? "ok what runs is finished" : `not ok what runs is finished: ${usage} ${ended}`);
console.log(late === "refused" || late === 503 ? "ok nothing new is taken" : `not ok nothing new is taken: ${late}`);
if (!slow.closed) await new Promise((done) => slow.on("close", done)); // and does not go away
