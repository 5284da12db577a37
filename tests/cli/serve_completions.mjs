// node tests/cli/serve_completions.mjs URL: what a server with the built-in model answers. Prints ok and not ok.
import assert from "node:assert/strict";
import OpenAI from "openai";

const url = process.argv[2], key = process.env.SOLO_KEY;
const client = new OpenAI({ baseURL: `${url}v1`, apiKey: key, maxRetries: 0 });
const PROMPT = "Once upon a time", LONG = "The king had three sons, and they lived in a castle by the sea. ".repeat(18);
const complete = (more) => client.completions.create({ model: "builtin", prompt: PROMPT, max_tokens: 12, temperature: 0, ...more });
const textOf = async (more) => (await complete(more)).choices[0].text;
async function streamed(more) {
    const texts = [];
    let usage, finish;
    for await (const chunk of await complete({ ...more, stream: true })) {
        for (const choice of chunk.choices) {
            texts[choice.index] = (texts[choice.index] ?? "") + choice.text;
            finish = choice.finish_reason ?? finish;
        }
        usage = chunk.usage ?? usage;
    }
    return { texts, usage, finish };
}

const TESTS = {
    async "models are listed, and found by name"() {
        const list = await client.models.list();
        assert.deepEqual(list.data.map((m) => m.id), ["builtin"]);
        assert.equal((await client.models.retrieve("builtin")).id, "builtin");
    },
    async "a completion, and what it counts"() {
        const whole = await complete();
        assert.equal(whole.object, "text_completion");
        assert.match(whole.choices[0].text, /^ \w+/);
        assert.equal(whole.choices[0].finish_reason, "length");
        assert.equal(whole.usage.completion_tokens, 12);
        assert.equal(whole.usage.total_tokens, whole.usage.prompt_tokens + 12);
    },
    async "16 tokens if nobody says how many"() {
        assert.equal((await complete({ max_tokens: undefined })).usage.completion_tokens, 16);
    },
    async "a stream says the same"() {
        const { texts, usage, finish } = await streamed({ stream_options: { include_usage: true } });
        assert.equal(texts[0], await textOf());
        assert.equal(usage.completion_tokens, 12);
        assert.equal(finish, "length");
        assert.equal((await streamed({})).usage, undefined);
    },
    async "the same seed gives the same text, another one another"() {
        const sampled = { temperature: 1, max_tokens: 30, seed: 5 };
        assert.equal(await textOf(sampled), await textOf(sampled));
        assert.notEqual(await textOf(sampled), await textOf({ ...sampled, seed: 6 }));
        assert.notEqual(await textOf({ ...sampled, seed: undefined }), await textOf({ ...sampled, seed: undefined }));
    },
    async "a top_p of 0, or of next to nothing, leaves the likeliest token"() {
        for (const top_p of [0, 1e-50, 1e-40, 1e-30]) assert.equal(await textOf({ temperature: 1, top_p, seed: 5 }), await textOf());
    },
    async "n texts, of which the first is that of n = 1"() {
        const sampled = { temperature: 1, seed: 9, n: 3 };
        const choices = (await complete(sampled)).choices.map((c) => c.text);
        assert.equal(new Set(choices).size, 3);
        assert.equal(choices[0], await textOf({ ...sampled, n: 1 }));
        assert.deepEqual((await streamed(sampled)).texts, choices);
    },
    async "several prompts, texts or tokens"() {
        const both = (await complete({ prompt: [PROMPT, "The king"] })).choices.map((c) => c.text);
        assert.deepEqual(both, [await textOf(), await textOf({ prompt: "The king" })]);
        const tokens = await textOf({ prompt: [3, 100, 200], echo: true });
        assert.equal(await textOf({ prompt: [[3, 100, 200]], echo: true }), tokens);
    },
    async "echo repeats the prompt"() {
        const plain = await textOf();
        assert.equal(await textOf({ echo: true }), PROMPT + plain);
        assert.equal((await streamed({ echo: true })).texts[0], PROMPT + plain);
    },
    async "a stop text ends it before itself"() {
        const plain = await textOf({ max_tokens: 40 }), word = plain.split(" ")[5];
        const stopped = await complete({ max_tokens: 40, stop: [word, "never to be seen"] });
        assert.equal(stopped.choices[0].text, plain.slice(0, plain.indexOf(word)));
        assert.equal(stopped.choices[0].finish_reason, "stop");
        assert.equal((await streamed({ max_tokens: 40, stop: word })).texts[0], stopped.choices[0].text);
    },
    async "likelihoods belong to the tokens"() {
        const { logprobs, text } = (await complete({ logprobs: 3 })).choices[0];
        assert.equal(text, await textOf());
        assert.equal(logprobs.tokens.join(""), text);
        for (let i = 0; i < logprobs.tokens.length; i++) {
            const top = logprobs.top_logprobs[i];
            assert.equal(Object.keys(top).length, 3);
            assert.equal(logprobs.token_logprobs[i], Math.max(...Object.values(top))); // the most likely was taken
            assert.ok(Object.values(top).reduce((sum, p) => sum + Math.exp(p), 0) < 1.0001);
        }
    },
    async "biases forbid and force tokens"() {
        const first = (await complete({ max_tokens: 1, logprobs: 1 })).choices[0];
        assert.notEqual(await textOf({ max_tokens: 1, logit_bias: { 300: 100 } }), first.text);
        assert.equal(await textOf({ max_tokens: 3, logit_bias: { 300: 100 } }), (await textOf({ max_tokens: 1, logit_bias: { 300: 100 } })).repeat(3));
    },
    async "penalties change what repeats"() {
        const plain = await textOf({ max_tokens: 50 });
        assert.notEqual(await textOf({ max_tokens: 50, presence_penalty: 2 }), plain);
        assert.notEqual(await textOf({ max_tokens: 50, frequency_penalty: 2 }), plain);
        const forced = { logit_bias: { 300: 100 }, frequency_penalty: -2, max_tokens: 3 };
        assert.equal(await textOf(forced), await textOf({ ...forced, frequency_penalty: 0 }));
    },
    async "the GPU chooses as the host does"() {
        for (const how of [{ temperature: 1, top_k: 20 }, { temperature: 0.7, top_p: 0.9 }, { temperature: 1.5, min_p: 0.05, repeat_penalty: 1.3 }])
            assert.equal(await textOf({ ...how, seed: 3, max_tokens: 30 }), await textOf({ ...how, seed: 3, max_tokens: 30, logprobs: 0 }));
    },
    async "a grammar is followed"() {
        const texts = [];
        for (let seed = 0; seed < 6; seed++)
            texts.push(await complete({ temperature: 2, seed, max_tokens: 40, grammar: 'root ::= (" yes" | " no" [a-z]{2}) "!"' }));
        for (const { choices: [choice] } of texts) {
            assert.match(choice.text, /^( yes| no[a-z]{2})!$/);
            assert.equal(choice.finish_reason, "stop");
        }
        assert.ok(new Set(texts.map((t) => t.choices[0].text)).size > 1);
        const streams = await streamed({ temperature: 1, seed: 3, n: 2, grammar: 'root ::= [α-ω]{3}' });
        for (const text of streams.texts) assert.match(text, /^[α-ω]{3}$/u);
    },
    async "a schema is followed, beside others who have none"() {
        const schema = { type: "object", properties: { name: { type: "string", maxLength: 8 }, age: { type: "integer" }, tags: { type: "array", items: { enum: ["a", "b"] }, maxItems: 2 }, extra: { type: ["null", "boolean"] } },
            required: ["name", "age", "tags"], additionalProperties: false };
        const ask = (seed) => complete({ temperature: 1, seed, max_tokens: 100, response_format: { type: "json_schema", json_schema: { name: "person", schema, strict: true } } });
        const plain = await textOf({ max_tokens: 30 });
        const [one, two, other] = await Promise.all([ask(1), ask(2), textOf({ max_tokens: 30 })]);
        assert.equal(other, plain);
        for (const { choices: [choice] } of [one, two, await ask(1)]) {
            assert.equal(choice.finish_reason, "stop");
            const read = JSON.parse(choice.text);
            assert.ok(typeof read.name === "string" && Number.isInteger(read.age) && Array.isArray(read.tags), choice.text);
            assert.deepEqual(Object.keys(read).filter((k) => !(k in schema.properties)), []);
        }
        assert.equal((await ask(1)).choices[0].text, one.choices[0].text);
    },
    async "a prompt that was there before is not computed again, and says the same"() {
        const prompt = LONG;
        const first = await complete({ prompt }), second = await complete({ prompt });
        assert.ok(first.usage.prompt_tokens > 256 && first.usage.prompt_tokens < 370, `${first.usage.prompt_tokens} tokens`);
        const cached = second.usage.prompt_tokens_details.cached_tokens;
        assert.ok(cached >= 128 && cached < first.usage.prompt_tokens, `${cached} cached`);
        assert.equal(second.choices[0].text, first.choices[0].text);
    },
    async "a text ends where the context does"() {
        const whole = await complete({ prompt: LONG, max_tokens: 4000, ignore_eos: true });
        assert.equal(whole.usage.total_tokens, 384);
        assert.equal(whole.choices[0].finish_reason, "length");
    },
    async "whoever else is served, the text is the same"() {
        const asks = [[PROMPT, 1], ["The king", 2], [PROMPT, 3], ["A long time ago, in a castle by the sea, ", 4]].map(([prompt, seed]) => ({ prompt, seed, temperature: 1, max_tokens: 25 }));
        const alone = [];
        for (const ask of asks) alone.push(await textOf(ask));
        assert.deepEqual(await Promise.all(asks.map((ask, i) => textOf({ ...ask, ...(i === 2 ? { logprobs: 1 } : {}) }))), alone);
    },
    async "a client that goes away frees its place"() {
        const abort = new AbortController();
        const stream = await client.completions.create({ prompt: PROMPT, max_tokens: 450, ignore_eos: true, stream: true }, { signal: abort.signal });
        for await (const _ of stream) break;
        abort.abort();
        const alone = new AbortController();
        const waiting = client.completions.create({ prompt: PROMPT, max_tokens: 450, ignore_eos: true }, { signal: alone.signal }).catch(() => "gone");
        setTimeout(() => alone.abort(), 200);
        assert.equal(await waiting, "gone");
        for (let i = 0; ; i++) {
            const { running, waiting } = await (await fetch(`${url}health`)).json();
            if (running + waiting === 0) break;
            assert.ok(i < 100, "their places are still taken");
            await new Promise((done) => setTimeout(done, 50));
        }
    },
    async "a full queue refuses with a time to come back"() {
        const ask = () => fetch(`${url}v1/completions`, { method: "POST", headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
            body: JSON.stringify({ prompt: PROMPT, max_tokens: 60, ignore_eos: true }) });
        const replies = await Promise.all(Array.from({ length: 10 }, ask)), refused = replies.filter((r) => r.status === 429);
        assert.equal(replies.filter((r) => r.status === 200).length + refused.length, 10);
        assert.ok(refused.length >= 3, `${refused.length} refused`);
        assert.ok(Number(refused[0].headers.get("retry-after")) >= 1);
        assert.equal((await refused[0].json()).error.type, "rate_limit_error");
        for (const reply of replies.filter((r) => r.status === 200)) assert.equal((await reply.json()).usage.completion_tokens, 60);
    },
    async "metrics count"() {
        const text = await (await fetch(`${url}metrics`, { headers: { authorization: `Bearer ${key}` } })).text();
        const value = (name) => Number(new RegExp(`^${name.replace(/[{}"+]/g, "\\$&")} (.*)$`, "m").exec(text)?.[1]);
        assert.ok(value("solo_generated_tokens_total") > 500);
        assert.ok(value("solo_texts_given_up_total") >= 2);
        assert.ok(value('solo_requests_total{status="200"}') > 20);
        assert.ok(value("solo_texts_refused_total") >= 3);
        assert.ok(value("solo_stepped_tokens_total") > 100 && value("solo_stepped_tokens_total") < value("solo_generated_tokens_total"));
        assert.equal(value("solo_vain_tokens_total"), 0); // where a dispatch makes one token, none is in vain
        assert.equal(value('solo_first_token_seconds_bucket{le="+Inf"}'), value("solo_first_token_seconds_count"));
        for (const line of text.trim().split("\n")) assert.match(line, /^(# (HELP|TYPE) |solo_\w+(\{[^}]*\})? [0-9.e+-]+$)/);
    },
};

for (const [name, test] of Object.entries(TESTS))
    await test().then(() => console.log(`ok ${name}`), (error) => console.log(`not ok ${name}: ${String(error.stack ?? error).slice(0, 600)}`));
