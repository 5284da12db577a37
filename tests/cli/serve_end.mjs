// node tests/cli/serve_end.mjs URL KEY PID: a server that is told to end finishes what it answers, and takes no more.
const [url, key, pid] = process.argv.slice(2);
const ask = (more) => fetch(`${url}v1/completions`, { method: "POST", headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ prompt: "Once", max_tokens: 100, ignore_eos: true, ...more }) });
const whole = ask().then((reply) => reply.json()), stream = ask({ stream: true }).then((reply) => reply.text());
await new Promise((done) => setTimeout(done, 300));
process.kill(Number(pid), "SIGTERM");
await new Promise((done) => setTimeout(done, 300));
const late = await ask().then((reply) => reply.status, () => "refused");
const usage = (await whole).usage?.completion_tokens, ended = (await stream).endsWith("data: [DONE]\n\n");
console.log(usage === 100 && ended ? "ok what runs is finished" : `not ok what runs is finished: ${usage} ${ended}`);
console.log(late === "refused" || late === 503 ? "ok nothing new is taken" : `not ok nothing new is taken: ${late}`);
