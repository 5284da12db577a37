// Solo without a page: in Node (Dawn, by Asyncify) and in Deno (wgpu, by JSPI).
// SOLO_PAGE: build/web; EXPECTED: what the native program says; LEVELS: those to be tried.
import { both, DATA, THROWN, whyNot } from "./sims.mjs";
import { checkRecord, done, equal, test, thrown, yes } from "./check.mjs";

const environment = globalThis.Deno ? Deno.env.toObject() : process.env;
const { SOLO_PAGE, EXPECTED, SIM_EXPECTED, BEST_EXPECTED, LEVELS, PROMPT, TOKENS } = environment;
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

await test("one dispatch that is made ready while others answer", async () => {
    const ask = () => solo.completions.create({ prompt: PROMPT, ...greedy });
    await solo.loadModel({ level: "loop", soon: true, context: 64 });
    equal([solo.model.level, solo.model.improving], ["ops", true]);
    const [first, better] = await Promise.all([ask(), solo.improved]);
    equal(PROMPT + first.choices[0].text, EXPECTED, first.solo.level); // whichever came first
    equal([better.level, better.improving, solo.model.level], ["loop", false, "loop"]);
    const second = await ask();
    equal([second.solo.level, PROMPT + second.choices[0].text], ["loop", EXPECTED]);
    await solo.loadModel({ level: "loop", soon: true, context: 64 });
    const { results } = await solo.benchLlm({ levels: ["ops"], tokens: 2, depth: 2, repetitions: 1 });
    equal([results.length, (await solo.improved).level, solo.model.level], [1, "loop", "loop"], "a measurement waits for it");
    await solo.loadModel({ level: "loop", soon: true, context: 64 });
    await solo.setLevel("ops");
    await solo.improved;
    equal([solo.model.level, solo.model.improving, (await ask()).solo.level, (await solo.setLevel("loop")).level], ["ops", false, "ops", "loop"], "a level that was asked for stays");
});

/** A GPU that takes its time to make a kernel. */
const slow = {
    async requestAdapter(options) {
        const adapter = await (gpu ?? navigator.gpu).requestAdapter(options), { info, features, limits } = adapter;
        const requestDevice = async (wanted) => {
            const device = await adapter.requestDevice(wanted), make = device.createComputePipelineAsync.bind(device);
            device.createComputePipelineAsync = (described) => new Promise((next) => setTimeout(next, 200)).then(() => make(described));
            return device;
        };
        return { info, features, limits, requestDevice };
    },
};

await test("one dispatch that is not ready yet when a measurement is wanted and all is closed after it, or the device is lost", async () => {
    const engine = await Engine.create({ gpu: slow }), load = async () => (await engine.load(await builtinSource(), { level: "loop", soon: true, context: 64 })).improving;
    await engine.open();
    equal(await load(), true);
    const [{ results }] = await Promise.all([engine.benchLlm({ levels: ["ops"], tokens: 2, depth: 2, repetitions: 1 }), engine.close()]);
    equal([results.length, (await engine.improved).level], [1, "loop"]);
    await engine.open();
    equal(await load(), true);
    await engine.lose();
    equal(await engine.improved, null);
    const { message } = await thrown(() => engine.answer({ prompt: PROMPT, maxTokens: 2 }));
    yes(/lost/.test(message), message);
    await engine.close();
});

for (const level of ["ops", "loop"])
    await test(`one dispatch that is not ready yet when another model is loaded, at ${level}`, async () => {
        const engine = await Engine.create({ gpu: slow }), one = await builtinSource(), other = await builtinSource();
        await engine.open();
        const [first, second] = await Promise.all([engine.load(one, { level: "loop", soon: true, context: 64 }), engine.load(other, { level, context: 64 })]);
        equal([first.level, first.improving, second.level, second.improving, second.notice], ["ops", true, level, false, null]);
        await engine.madeAhead();
        let text = "";
        equal([(await engine.answer({ prompt: PROMPT, maxTokens: Number(TOKENS), onText: (piece) => (text += piece) })).level, PROMPT + text], [level, EXPECTED]);
        await engine.close();
    });

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

/** A GGUF file with one more key, and all else where it was: what is put in is a multiple of 32 bytes long. */
function withTemplate(file, template) {
    const encode = (text) => new TextEncoder().encode(text), key = encode("tokenizer.chat_template"), head = 24;
    const text = encode(`{#${" ".repeat(31 - (8 + key.length + 4 + 8 + template.length + 4 + 31) % 32)}#}${template}`), made = new Uint8Array(file.length + 20 + key.length + text.length);
    const view = new DataView(made.buffer);
    made.set(file.subarray(0, head));
    view.setBigUint64(16, view.getBigUint64(16, true) + 1n, true);
    view.setBigUint64(head, BigInt(key.length), true);
    made.set(key, head + 8);
    view.setUint32(head + 8 + key.length, 8, true);
    view.setBigUint64(head + 12 + key.length, BigInt(text.length), true);
    made.set(text, head + 20 + key.length);
    made.set(file.subarray(head), head + 20 + key.length + text.length);
    return { name: "one with a template", size: made.length, read: async (offset, length) => made.subarray(offset, offset + length) };
}

for (const jspi of [undefined, false])
    await test(`a model's chat template is run${jspi === false ? ", by Asyncify" : ""}`, async () => {
        const engine = await Engine.create({ gpu, jspi }), builtin = await builtinSource(), file = await builtin.read(0, builtin.size);
        await engine.open();
        const say = async (messages) => {
            let text = "";
            await engine.answer({ messages, maxTokens: 8, onText: (piece) => (text += piece) });
            return text.trim();
        };
        const { format, template_error } = await engine.load(withTemplate(file, "{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}"), { level: "ops", context: 64 });
        equal([format, template_error], ["own", null]);
        const [once, upon] = [PROMPT.slice(0, 5), PROMPT.slice(5)];
        yes(EXPECTED.slice(PROMPT.length).trim().startsWith(await say([{ role: "system", content: "no" }, { role: "user", content: once }, { role: "user", content: upon }])), "the template was used");
        const wrong = await engine.load(withTemplate(file, "a\n{% nonsense %}"), { level: "ops", context: 64 });
        equal([wrong.format, wrong.template_error], [null, "chat template, line 2: the tag 'nonsense' is not known here"]);
        equal((await thrown(() => say([{ role: "user", content: PROMPT }]))).message, wrong.template_error);
        let text = "";
        await engine.answer({ prompt: PROMPT, maxTokens: 4, onText: (piece) => (text += piece) });
        yes(EXPECTED.startsWith(PROMPT + text), "a text goes on without it");
        await engine.load(withTemplate(file, "{{ messages[0].content }}{% if messages[1] %}{{ raise_exception('One only.') }}{% endif %}"), { level: "ops", context: 64 });
        equal((await thrown(() => say([{ role: "user", content: "a" }, { role: "user", content: "b" }]))).message, "chat template, line 1: One only.");
        await engine.close();
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
    yes(/needs messages/.test((await thrown(() => solo.chat.completions.create({ prompt: "x" }))).message), "no messages");
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
    await refused(() => solo.setLevel("all"), /no level "all": it is one of auto, none, ops, token, loop/);
    await refused(() => solo.benchLlm({ levels: ["ops", "all"] }), /no level "all"/);
    await refused(() => solo.benchLlm({ submits: ["never"] }), /no way to submit "never"/);
    await refused(() => solo.benchDecoder({ repetitions: 1 }), /repetitions are 2 or more/);
    await refused(() => Solo.open({ gpu, adapter: "best" }), /no adapter "best"/);
    await refused(() => solo.completions.create({ prompt: ["a", "b"] }), /a prompt is one string/);
    await refused(() => solo.chat.completions.create({ messages: [{ role: "user", content: [{ type: "image_url" }] }] }), /parts with a text/);
    const messages = [{ role: "user", content: "x" }], chat = (more) => solo.chat.completions.create({ messages, max_tokens: 1, ...more });
    const others = { n: 2, user: "a", logprobs: true, top_logprobs: 2, logit_bias: {}, presence_penalty: 0.5, frequency_penalty: 1, tools: [], tool_choice: "auto", parallel_tool_calls: true, response_format: { type: "text" }, grammar: "root ::= [a]", reasoning_effort: "low", echo: true, best_of: 2, suffix: "b", temprature: 1 };
    for (const [name, value] of Object.entries(others)) await refused(() => chat({ [name]: value }), new RegExp(`^${name} is not supported`));
    await refused(() => chat({ messages: [...messages, { role: "assistant", content: "y", tool_calls: [] }] }), /^messages\[1\]\.tool_calls is not supported/);
    const senseless = { max_tokens: [10n, -1, 1.5, NaN, "5", true, 2 ** 32], max_completion_tokens: [Symbol("x")], temperature: [NaN, -1, Infinity, "x", {}, 10n], top_k: [0.5, -1, "40"], top_p: [1.5, NaN], min_p: [-1], repeat_penalty: [-1, () => 1],
        seed: [-1, 0.5, "1"], stop: [5, ["a", null]], on_full: ["never"], stream: ["yes"], signal: [5] };
    for (const [name, values] of Object.entries(senseless)) for (const value of values) await refused(() => chat({ [name]: value }), new RegExp(`^${name} is `));
    await refused(() => solo.chat.completions.create(), /needs messages/);
    await refused(() => chat({ messages: [null] }), /a message's content/);
    await refused(() => Solo.open({ gpu, adaptor: "any" }), /^adaptor is not supported here/);
    await refused(() => solo.loadModel({ contxt: 64 }), /^contxt is not supported here/);
    await refused(() => solo.benchDispatch({ reps: 3 }), /^there is no option "reps"/);
    await refused(() => solo.benchLlm({ token: 3 }), /^there is no option "token"/);
    if (gpu) await refused(() => solo.simulate("cartpole", { popullation: 4 }), /^there is no option "popullation"/);
    if (gpu) await refused(() => solo.simulate("cartpole", { evolve: { generations: 2, mutate: 1 } }), /^there is no option "evolve.mutate"/);
    for (const context of [10n, NaN, 0.5, "64"]) await refused(() => solo.loadModel({ context }), /^context is a whole number/);
    yes(/^the model is no GGUF file/.test((await thrown(() => solo.loadModel({ model: new Blob(["x"]) }))).message), "a Blob has no name");
    if (gpu) for (const onProgress of [5, () => { throw new Error("mine"); }]) yes(/mine|not a function/.test((await thrown(() => solo.simulate("cartpole", { population: 4, steps: 2, evolve: { generations: 2 }, onProgress }))).message), "a function of the caller's that fails");
    equal((await solo.simulate("cartpole", { population: 4, steps: 2 })).population, 4, "and breaks nothing");
    await refused(() => chat({ stream: true, stream_options: { include_all: true } }), /^stream_options\.include_all is not supported/);
    for (const [name, value] of Object.entries({ temperature: -3, top_p: 1.01, min_p: "high", repeat_penalty: NaN, top_k: -1, max_tokens: Infinity, max_completion_tokens: -1 })) await refused(() => chat({ [name]: value }), new RegExp(`^${name} is a (whole )?number from 0 to `));
    equal((await chat({ n: 1, logprobs: null, seed: null, stop: null })).usage.completion_tokens, 1, "what asks for nothing is no fault");
    const parts = await solo.chat.completions.create({ model: "any", messages: [{ role: "user", content: [{ type: "text", text: "Once upon" }, { type: "text", text: " a time" }] }], ...greedy, max_tokens: 2 });
    equal(parts.choices[0].message.content, (await solo.chat.completions.create({ messages: [{ role: "user", content: PROMPT }], ...greedy, max_tokens: 2 })).choices[0].message.content);
    await refused(() => solo.loadModel({ level: "all" }), /no level "all"/);
    equal(solo.model, null, "a load that failed leaves no model behind");
    yes(/no model is loaded/.test((await thrown(() => solo.completions.create({ prompt: "x" }))).message), "no model");
    await solo.loadModel({ level: "ops", context: 64 });
});

await test("a text does not end at U+0000", async () => {
    const read = async (prompt) => (await solo.completions.create({ prompt, ...greedy, max_tokens: 1 })).usage.prompt_tokens;
    equal(await read(`${PROMPT}\0, a king`), await read(`${PROMPT}\ufffd, a king`));
});

await test("what an answer took: the first token, and the others' rate, are all of its time", async () => {
    for (const most of [1, 2, 30]) {
        let nearlyAll = false, told = "";
        for (let tries = 0; tries < 20 && !nearlyAll; tries++) { // other work may come between an answer and its receipt
            const began = performance.now(), { solo: took } = await solo.completions.create({ prompt: PROMPT, ...greedy, max_tokens: most }), all_s = (performance.now() - began) / 1000;
            const said_s = took.first_token_s + (took.tokens - 1) / took.tokens_per_s;
            told = `${most}: ${JSON.stringify(took)}, ${said_s} s of ${all_s}`;
            equal(took.tokens, most);
            yes(took.first_token_s > 0 && said_s <= all_s + 0.01, told);
            nearlyAll = most < 30 || said_s > all_s / 2;
        }
        yes(nearlyAll, told);
    }
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

await test("a stop is heard within half a second, whatever the GPU is at", async () => {
    await solo.loadModel({ level: "ops", context: 1024 }); // nothing is compiled yet for a long prompt
    const prompt = `${PROMPT} `.repeat(150), took = [];
    for (const after of [0, 30, 100, 300, 600, 1000, 1500]) {
        let heard = Infinity; // the soonest of three: a machine may be busy with something else
        for (let tries = 0; tries < 3 && heard > 500; tries++) {
            const stop = new AbortController(), answer = solo.completions.create({ prompt: `${after} ${tries} ${prompt}`, ...greedy, max_tokens: 400, signal: stop.signal });
            await new Promise((next) => setTimeout(next, after));
            const asked = performance.now();
            stop.abort();
            await answer;
            heard = Math.min(heard, performance.now() - asked);
        }
        took.push(Math.round(heard));
    }
    yes(Math.max(...took) <= 500, `${took} ms`);
    await solo.loadModel({ level: "ops", context: 64 });
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
    const theirs = await thrown(() => again.loadModel({ level: "ops", context: 64, onProgress }));
    yes(theirs.message === "the heap is in pieces" && !theirs.lost, "a caller's function that fails is not C that breaks down");
    await again.loadModel({ level: "ops", context: 64 });
    again.end();
    await thrown(() => Solo.load({ gpu: counted, level: "all" }));
    for (let i = 0; open > 0 && i < 5000; i++) await new Promise((next) => setTimeout(next, 20)); // they go by and by
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

await test("a device that is lost in the middle of an answer says so, at whatever moment", async () => {
    let device = null;
    const seen = {
        async requestAdapter(options) {
            const adapter = await (gpu ?? navigator.gpu).requestAdapter(options), requestDevice = adapter.requestDevice.bind(adapter);
            adapter.requestDevice = async (wanted) => {
                device = await requestDevice(wanted);
                const { lost } = device; // Chromium says it after all reads have failed
                Object.defineProperty(device, "lost", { value: lost.then((info) => new Promise((next) => setTimeout(() => next(info), 20))) });
                return device;
            };
            return adapter;
        },
    };
    for (const after of [0, 1, 3, 10]) {
        const engine = await Engine.create({ gpu: seen });
        await engine.open();
        await engine.load(await builtinSource(), { level: "ops", context: 64 });
        const error = await thrown(() => engine.answer({ prompt: PROMPT, maxTokens: 50, onText: () => setTimeout(() => device.destroy(), after) }));
        yes(/device lost/.test(error.message), `${after} ms later: ${error.message}`);
        await engine.close();
    }
});

await test("simulations: the same bits in one dispatch and in one for each step, and the native run's scores", async () => {
    const scores = SIM_EXPECTED.split(",").map(Number);
    const cartpole = await both(solo, "cartpole", { population: 33, steps: 60, seed: 5, chunkMs: 0 });
    yes(cartpole.same, "the same bits");
    equal(cartpole.dispatches, [1, 62]);
    yes(cartpole.scores.filter((score, i) => Math.abs(score - scores[i]) < 1e-3).length >= 31, `${cartpole.scores} instead of ${scores}`);
    const coupled = await both(solo, "epidemic", { population: 64, steps: 10 });
    yes(coupled.same && coupled.notice === null, `coupled: ${JSON.stringify(coupled)}`);
});

await test("a simulation of one's own: parameters, data, genes, a trace, progress", async () => {
    const options = { population: 3, steps: 60, params: { GRAVITY: 3.5 }, data: DATA, genomes: [[1], [2], [-1]], trace: { count: 2, every: 25 } };
    const own = await both(solo, THROWN, options);
    yes(own.same, "the same bits");
    equal(own.members, ["at.x", "at.y", "v.x", "v.y", "bounces"]);
    equal(own.scores.map((x) => x.toFixed(3)), ["0.600", "1.200", "-0.600"]);
    equal(own.trace, [[0, 2], [25, 2], [50, 2]]);
    equal(own.last, ["simulating", 60, 60]);
    const flat = await both(solo, THROWN, { ...options, data: { values: new Float32Array([1, 2, 0.5]), columns: 1 }, genomes: new Float32Array([2]) });
    equal(flat.scores.map((x) => x.toFixed(3)), ["1.200", "1.200", "1.200"], "one genome for all");
});

await test("evolution: the native run's best, genes that can be run again", async () => {
    const seen = [], options = { population: 50, seed: 4 };
    const evolved = await solo.simulate("sphere", { ...options, evolve: { generations: 6 }, onProgress: ({ what, done, total }) => seen.push([what, done, total]) });
    equal([evolved.best.length, evolved.genomes.length, evolved.genes], [7, 500, 10]);
    const digits = (value) => value.toPrecision(4), [first, last] = BEST_EXPECTED.match(/-?[\d.]+/g).map(Number);
    equal([digits(evolved.best[0]), digits(evolved.best[6])], [digits(first), digits(last)]);
    equal(Math.max(...evolved.scores), evolved.best[6]);
    equal(seen.at(-1), ["evolving", 6, 6]);
    equal([...(await solo.simulate("sphere", { ...options, genomes: evolved.genomes })).scores], [...evolved.scores]);
    for (const [more, what] of [[{ evolve: {} }, /evolve.generations is/], [{ evolve: { generations: 2, mutation: 7 } }, /evolve.mutation is out of range/], [{ evolve: { generations: 2 }, fuse: "none" }, /chooses by itself/]])
        yes(what.test((await whyNot(solo, "sphere", { ...options, ...more })).message), `${what}`);
    yes(/nothing to evolve/.test((await whyNot(solo, "pi", { population: 5, steps: 2, evolve: { generations: 2 } })).message), "no genes");
});

await test("a simulation that runs again and again: from where the last run ended, in one dispatch or in many, beside others", async () => {
    const walk = "const GENES = 1; struct State { x: f32 } fn init() -> State { return State(gene(0u)); } fn step(s: State) -> State { return State(s.x + 1.0); } fn score(s: State) -> f32 { return s.x; }";
    const again = await solo.prepareSimulation(walk, { population: 3, steps: 10, chunkMs: 0 }), first = await again.run({ genomes: [[1], [2], [3]] });
    equal([[...first.scores], first.dispatches], [[11, 12, 13], 1]);
    const second = await again.run({ genomes: first.scores, fuse: "none" });
    equal([[...second.states.x], second.dispatches], [[21, 22, 23], 12]);
    equal([...(await again.run()).scores], [21, 22, 23], "without genomes: those of the run before");
    equal((await solo.simulate("pi", { population: 4, steps: 5 })).scores.length, 4, "another one in between");
    equal([...(await again.run({ genomes: [[5]] })).scores], [15, 15, 15]);
    yes(/2 rows of 1; there are 3/.test((await thrown(() => again.run({ genomes: [[1], [2]] }))).message), "wrong genomes");
    yes(/no parameter/.test((await thrown(async () => (await solo.prepareSimulation(walk, { params: { MASS: 1 }, population: 3, steps: 1 })).run())).message), "what cannot be made");
    equal([...(await again.run({ genomes: [[7]] })).scores], [17, 17, 17], "it is made once more");
    await again.close();
    yes(/was closed/.test((await thrown(() => again.run())).message), "closed");
});

await test("what is wrong with a simulation is said, with its line", async () => {
    const options = { population: 3, steps: 2, data: DATA };
    const why = async (source, more, what, usage) => {
        const said = await whyNot(solo, source, { ...options, ...more });
        yes(what.test(said.message) && said.usage === usage, `${what}: ${JSON.stringify(said)}`);
    };
    await why(THROWN.replace("n.at.y < 0.0", "n.at.y < 0u"), { name: "mine.wgsl" }, /^mine\.wgsl:9: /, false);
    await why(THROWN.replace("fn score", "fn points"), {}, /^simulation\.wgsl.*fn score/, false);
    await why(THROWN.replace("return s.at.x", "return log(-1.0 - s.at.x * s.at.x)"), {}, /3 of 3 scores are not finite/, false);
    await why("cartwheel", {}, /no built-in simulation 'cartwheel'/, true);
    await why(THROWN, { params: { MASS: 1 } }, /no parameter 'MASS'/, true);
    await why(THROWN, { data: [[1, 2], [3]] }, /data: row 1 has 1 numbers, row 0 has 2/, true);
    await why(THROWN, { data: [[1], [NaN]] }, /row 1, column 0 is no finite number/, true);
    await why(THROWN, { data: undefined }, /reads data/, true);
    await why(THROWN, { genomes: [[1], [2]] }, /2 rows of 1; there are 3 individuals with 1 genes/, true);
    await why(THROWN, { fuse: "ops" }, /no level of a simulation "ops": it is one of loop, none/, true);
    await why(THROWN, { population: -1 }, /population is a count/, true);
    yes((await both(solo, THROWN, options)).same, "the next one works");
    yes(/text of WGSL/.test((await thrown(() => solo.simulate(7))).message), "no text");
});

await test("the example of the documents runs", async () => {
    const text = await (await import("node:fs/promises")).readFile("docs/sim.md", "utf8"), [, example] = text.match(/```js\n([\s\S]*?)```/);
    const said = [], code = example.replace(/^import.*$/m, "").replace("await Solo.open()", "solo_").replaceAll(/console\.log\((.*)\)/g, "said.push($1)");
    const Run = Object.getPrototypeOf(async () => {}).constructor;
    const { run, each } = await new Run("solo_", "said", `${code}; return { run, each };`)(solo, said);
    equal([said[0].length, said[1].length, said[2].length, run.trace[1].t], [1000, 1000, 3, 10]);
    equal([...run.scores], [...each.scores]);
    equal(example.trim().split("\n").length <= 10, true, "ten lines");
});

await test("simulations alone, without anything of models, and a device that is lost", async () => {
    const { Simulator } = await import(`${SOLO_PAGE}/sim.js`), simulator = await Simulator.create({ gpu: real });
    yes((await simulator.open()).device, "a device");
    equal((await simulator.simulate("pi", { population: 4, steps: 5 })).scores.length, 4);
    await simulator.lose();
    yes(/device lost/.test((await whyNot(simulator, "pi", { population: 4, steps: 5 })).message), "it says so");
    await simulator.close();
});

await test("kernels as GPUs have them, with the short names that a page gives them, make the same text", async () => {
    const request = { prompt: PROMPT, ...greedy, max_tokens: 12 }, options = { gpu, level: "ops", context: 64 };
    const [plain, tuned] = [await Solo.load(options), await Solo.load({ ...options, environment: { SOLO_TUNE: "gpu" } })];
    equal((await tuned.completions.create(request)).choices[0].text, (await plain.completions.create(request)).choices[0].text);
    await tuned.close();
    // and as one dispatch of two workgroups, which exchange data
    const megakernel = await Solo.load({ ...options, level: "loop", environment: { SOLO_ONE_GROUPS: "2" } });
    equal(megakernel.model.level, "loop");
    equal((await megakernel.completions.create(request)).choices[0].text, (await plain.completions.create(request)).choices[0].text);
    await megakernel.close();
    await plain.close();
});

await test("a small decoder as 1,024 dispatches or as one, as a record", async () => {
    const seen = [], record = await solo.benchDecoder({ repetitions: 2, onProgress: (p) => seen.push(p.what) });
    checkRecord(record, { experiment: "decoder" });
    equal(record.results.map((r) => [r.params.submit, r.dispatches, r.submits]), [["sync", 1024, 1024], ["each", 1024, 1024], ["pass", 1024, 1], ["batch", 1024, 1], ["one", 1, 1]]);
    yes(seen.includes("measuring"), "its progress was reported");
});

await test("the ladder, as a record", async () => {
    const seen = [];
    const record = await solo.benchLlm({ levels: ["none", "ops"], tokens: 4, depth: 4, repetitions: 2, onProgress: (p) => seen.push(p.what) });
    checkRecord(record, { experiment: "llm" });
    equal(record.results.map((r) => r.params.fuse).sort(), ["none", "ops"]);
    yes(seen.includes("measuring"), "its progress was reported");
});
done();
