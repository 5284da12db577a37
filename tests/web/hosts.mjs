// Solo without a page: in Node (Dawn, by Asyncify) and in Deno (wgpu, by JSPI).
// SOLO_PAGE: build/web; EXPECTED: what the native program says; LEVELS: those to be tried.
import { checkRecord, done, equal, test, thrown, yes } from "./check.mjs";

const environment = globalThis.Deno ? Deno.env.toObject() : process.env;
const { SOLO_PAGE, EXPECTED, LEVELS, PROMPT, TOKENS } = environment;
const { Solo } = await import(`${SOLO_PAGE}/solo.js`);
const { Engine, builtinSource } = await import(`${SOLO_PAGE}/engine.js`);

let gpu;
if (!globalThis.Deno) {
    const dawn = await import("webgpu");
    Object.assign(globalThis, dawn.globals);
    gpu = dawn.create([]);
}
const greedy = { temperature: 0, repeat_penalty: 1, max_tokens: Number(TOKENS) };
const solo = await Solo.open({ gpu });

for (const level of LEVELS.split(",")) {
    await test(`the native run's tokens, at ${level}`, async () => {
        await solo.loadModel({ level, context: 64 });
        equal(solo.model.level, level);
        const made = await solo.completions.create({ prompt: PROMPT, ...greedy });
        equal(PROMPT + made.choices[0].text, EXPECTED);
        equal(made.usage.completion_tokens, greedy.max_tokens);
        equal(made.choices[0].finish_reason, "length");
    });
}

await solo.loadModel({ level: "ops", context: 64 });
await test("a chat, streamed, in OpenAI's shapes", async () => {
    const chunks = [], request = { messages: [{ role: "user", content: PROMPT }], ...greedy, max_tokens: 8 };
    for await (const chunk of await solo.chat.completions.create({ ...request, stream: true })) chunks.push(chunk);
    const whole = await solo.chat.completions.create(request);
    yes(chunks.every((c) => c.object === "chat.completion.chunk" && c.id === chunks[0].id), "chunks belong together");
    equal(chunks[0].choices[0].delta.role, "assistant");
    equal(chunks.map((c) => c.choices[0].delta.content ?? "").join(""), whole.choices[0].message.content);
    equal(chunks.at(-1).choices[0].finish_reason, "length");
    equal(chunks.at(-1).usage, whole.usage);
    equal(whole.usage.completion_tokens, 8);
});

await test("a stop text, a seed, and someone who stops listening", async () => {
    const all = await solo.completions.create({ prompt: PROMPT, ...greedy, max_tokens: 12 }), text = all.choices[0].text;
    const stop = text.trim().split(" ")[3];
    const stopped = await solo.completions.create({ prompt: PROMPT, ...greedy, max_tokens: 12, stop });
    equal(stopped.choices[0].finish_reason, "stop");
    equal(stopped.choices[0].text, text.slice(0, text.indexOf(stop)));
    const free = { prompt: PROMPT, temperature: 1.5, max_tokens: 8, seed: 7 };
    equal((await solo.completions.create(free)).choices[0].text, (await solo.completions.create(free)).choices[0].text);
    let pieces = 0;
    for await (const _ of await solo.completions.create({ prompt: PROMPT, ...greedy, max_tokens: 40, stream: true })) if (++pieces === 3) break;
    const again = await solo.completions.create({ prompt: PROMPT, ...greedy, max_tokens: 12 });
    equal(again.choices[0].text, text);
});

await test("what is wrong is said", async () => {
    yes(/roles system, user, assistant/.test((await thrown(() => solo.chat.completions.create({ messages: [{ role: "robot", content: "x" }] }))).message), "an unknown role");
    yes(/wants messages/.test((await thrown(() => solo.chat.completions.create({ prompt: "x" }))).message), "no messages");
    const broken = { name: "cut.gguf", size: 4000, read: async (offset, length) => (await builtinSource()).read(offset, length) };
    const engine = await Engine.create({ gpu: gpu ?? navigator.gpu });
    yes(/no device is open/.test((await thrown(() => engine.load(broken))).message), "no device");
    await engine.open();
    yes(/cut\.gguf/.test((await thrown(() => engine.load(broken))).message), "a file that was cut off");
    const whole = await builtinSource();
    const fails = { ...whole, name: "far.gguf", read: (offset, length) => (offset > 2e6 ? Promise.reject(new Error("the disk was pulled out")) : whole.read(offset, length)) };
    equal((await thrown(() => engine.load(fails, { level: "ops", context: 32 }))).message, "far.gguf: the disk was pulled out");
    await engine.close();
    const none = await thrown(() => Solo.open({ gpu: { requestAdapter: async () => null } }));
    yes(none.noGpu && /no GPU/.test(none.message), "no GPU");
});

await test("names that do not exist, requests that make no sense", async () => {
    const refused = async (act, what) => {
        const error = await thrown(act);
        yes(what.test(error.message) && (error.usage || error instanceof TypeError), `${what}: ${error.message}`);
    };
    await refused(() => solo.setLevel("all"), /no level "all": it is one of none, ops, token, loop/);
    await refused(() => solo.benchLlm({ levels: ["ops", "all"] }), /no level "all"/);
    await refused(() => solo.benchLlm({ submits: ["never"] }), /no way to submit "never"/);
    await refused(() => Solo.open({ gpu, adapter: "best" }), /no adapter "best"/);
    await refused(() => solo.completions.create({ prompt: ["a", "b"] }), /a prompt is one string/);
    await refused(() => solo.chat.completions.create({ messages: [{ role: "user", content: [{ type: "image_url" }] }] }), /parts with a text/);
    const parts = await solo.chat.completions.create({ model: "any", messages: [{ role: "user", content: [{ type: "text", text: "Once upon" }, { type: "text", text: " a time" }] }], ...greedy, max_tokens: 2 });
    equal(parts.choices[0].message.content, (await solo.chat.completions.create({ messages: [{ role: "user", content: PROMPT }], ...greedy, max_tokens: 2 })).choices[0].message.content);
    await refused(() => solo.loadModel({ level: "all" }), /no level "all"/);
    equal(solo.model, null, "a load that failed leaves no model behind");
    yes(/no model is loaded/.test((await thrown(() => solo.completions.create({ prompt: "x" }))).message), "no model");
    await solo.loadModel({ level: "ops", context: 64 });
});

await test("a stop ends its own answer, also one that waits for others", async () => {
    const request = { prompt: PROMPT, ...greedy, max_tokens: 12 }, second = new AbortController();
    const order = [], first = solo.completions.create(request).then((made) => (order.push("first"), made));
    const queued = solo.completions.create({ ...request, signal: second.signal }).then((made) => (order.push("queued"), made));
    setTimeout(() => second.abort(), 0);
    equal([(await queued).solo.end, (await queued).solo.tokens], ["interrupted", 0]);
    equal([(await first).solo.end, (await first).solo.tokens], ["length", 12]);
    equal(order, ["queued", "first"], "it does not wait for its turn");
    let pieces = 0;
    const left = (async () => {
        for await (const _ of await solo.completions.create({ ...request, max_tokens: 40, stream: true })) if (++pieces === 2) break;
    })();
    const after = solo.completions.create(request);
    await left;
    equal((await after).solo.tokens, 12, "the next one is not stopped with it");
});

const real = gpu ?? navigator.gpu;

await test("after an error of the GPU another model can be loaded", async () => {
    let full = false;
    const small = {
        async requestAdapter(options) {
            const adapter = await real.requestAdapter(options), requestDevice = adapter.requestDevice.bind(adapter);
            adapter.requestDevice = async (wanted) => {
                const device = await requestDevice(wanted), createBuffer = device.createBuffer.bind(device);
                device.createBuffer = (what) => {
                    if (full) throw new Error("there is no memory left");
                    return createBuffer(what);
                };
                return device;
            };
            return adapter;
        },
    };
    const other = await Solo.open({ gpu: small });
    full = true;
    yes(/no memory left/.test((await thrown(() => other.loadModel({ level: "ops", context: 64 }))).message), "it is said");
    full = false;
    await other.loadModel({ level: "ops", context: 64 });
    const made = await other.completions.create({ prompt: PROMPT, ...greedy, max_tokens: 4 });
    yes(EXPECTED.startsWith(PROMPT + made.choices[0].text), made.choices[0].text);
    other.end();
    yes((await thrown(() => other.models.list())).cancelled, "after the end calls are refused");
});

await test("measurements take the adapter that was chosen", async () => {
    const asked = [];
    const choosy = { requestAdapter: ({ forceFallbackAdapter }) => (asked.push(forceFallbackAdapter), real.requestAdapter()) };
    const engine = await Engine.create({ gpu: choosy });
    await engine.open({ adapter: "software" });
    await engine.load(await builtinSource(), { level: "ops", context: 64 });
    await engine.benchLlm({ levels: ["ops"], tokens: 1, depth: 1, repetitions: 1 });
    yes(asked.length > 1 && asked.every(Boolean), `asked: ${asked}`);
    await engine.close();
});

await test("C that breaks down says why, lets the device go, and leaves the rest usable", async () => {
    let open = 0;
    const counted = {
        async requestAdapter(options) {
            const adapter = await real.requestAdapter(options), requestDevice = adapter.requestDevice.bind(adapter);
            adapter.requestDevice = async (wanted) => {
                const device = await requestDevice(wanted);
                open++;
                device.lost.then(() => open--);
                return device;
            };
            return adapter;
        },
    };
    const engine = await Engine.create({ gpu: counted });
    await engine.open();
    const onProgress = () => {
        throw new Error("the heap is in pieces"); // in the middle of C
    };
    const error = await thrown(async () => engine.load(await builtinSource(), { level: "ops", context: 64, onProgress }));
    yes(error.dead && /broke down: the heap is in pieces/.test(error.message), error.message);
    yes(engine.dead && (await thrown(() => engine.setLevel("ops"))).dead, "it stays so");
    await engine.close();
    const again = await Solo.open({ gpu: counted });
    yes((await thrown(() => again.loadModel({ level: "ops", context: 64, onProgress }))).lost, "a new device is needed");
    await again.loadModel({ level: "ops", context: 64 });
    again.end();
    await thrown(() => Solo.load({ gpu: counted, level: "all" }));
    await new Promise((next) => setTimeout(next, 100));
    equal(open, 0, "devices that are left");
});

await test("a lost device says so, and can be followed by another", async () => {
    await solo.loadModel({ level: "ops", context: 64 });
    await solo.loseDevice();
    const error = await thrown(() => solo.completions.create({ prompt: PROMPT, ...greedy, max_tokens: 4 }));
    yes(error.lost, error.message);
    const { info } = solo;
    await solo.recover();
    yes(solo.info !== info && solo.info.gpu.device, "the new device is described");
    const made = await solo.completions.create({ prompt: PROMPT, ...greedy, max_tokens: 6 });
    yes(EXPECTED.startsWith(PROMPT + made.choices[0].text), made.choices[0].text);
});

await test("the ladder, as a record", async () => {
    const seen = [];
    const record = await solo.benchLlm({ levels: ["none", "ops"], tokens: 4, depth: 4, repetitions: 2, onProgress: (p) => seen.push(p.what) });
    checkRecord(record, { experiment: "llm" });
    equal(record.results.map((r) => r.params.fuse).sort(), ["none", "ops"]);
    yes(seen.includes("measuring"), "its progress was told");
});
done();
