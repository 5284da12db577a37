// node tests/cli/serve_embed.mjs URL VECTORS.json: embeddings, beside what `solo embed` made of "the fox" and "hello".
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import OpenAI from "openai";

const [url, file] = process.argv.slice(2);
const right = JSON.parse(readFileSync(file, "utf8")).texts.map((t) => t.embedding);
const client = new OpenAI({ baseURL: `${url}v1`, apiKey: "unused", maxRetries: 0 });
const INPUT = ["the fox", "hello"];
const alike = (a, b) => { assert.equal(a.length, b.length); a.forEach((x, i) => assert.ok(Math.abs(x - b[i]) < 1e-5)); };
async function refused(path, body, status, param) {
    const reply = await fetch(`${url}v1/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    assert.equal(reply.status, status, JSON.stringify(body));
    assert.equal((await reply.json()).error.param, param);
}

const TESTS = {
    async "embeddings as numbers and in base64"() {
        for (const encoding_format of ["float", "base64", undefined]) {
            const reply = await client.embeddings.create({ model: "bert-mean", input: INPUT, encoding_format });
            assert.deepEqual(reply.data.map((d) => d.index), [0, 1]);
            reply.data.forEach((d, i) => alike(typeof d.embedding === "string" ? [...new Float32Array(Uint8Array.from(Buffer.from(d.embedding, "base64")).buffer)] : d.embedding, right[i]));
            assert.ok(reply.usage.prompt_tokens > 2);
        }
    },
    async "one text, and many at once"() {
        alike((await client.embeddings.create({ model: "bert-mean", input: "hello" })).data[0].embedding, right[1]);
        const many = await Promise.all(Array.from({ length: 12 }, (_, i) => client.embeddings.create({ model: "bert-mean", input: INPUT[i % 2] })));
        many.forEach((reply, i) => alike(reply.data[0].embedding, right[i % 2]));
    },
    async "what is refused"() {
        await refused("embeddings", {}, 400, "input");
        await refused("embeddings", { input: [] }, 400, "input");
        await refused("embeddings", { input: 5 }, 400, "input");
        await refused("embeddings", { input: ["a", {}] }, 400, "input[1]");
        await refused("embeddings", { input: [1, 99999999] }, 400, "input");
        await refused("embeddings", { input: "word ".repeat(5000) }, 400, "input");
        await refused("embeddings", { input: "a", dimensions: 3 }, 400, "dimensions");
        await refused("embeddings", { input: "a", encoding_format: "text" }, 400, "encoding_format");
        await refused("embeddings", { input: "a", other: 1 }, 400, "other");
        await refused("embeddings", { input: "a", model: "other" }, 404, "model");
        await refused("completions", { prompt: "a" }, 400, "model");
        await refused("chat/completions", { messages: [{ role: "user", content: "a" }] }, 400, "model");
    },
};

for (const [name, test] of Object.entries(TESTS))
    await test().then(() => console.log(`ok ${name}`), (error) => console.log(`not ok ${name}: ${String(error.stack ?? error).slice(0, 600)}`));
