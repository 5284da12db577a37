// Parts of the page that need neither a browser nor a GPU.
import { createHash, randomBytes } from "node:crypto";
import { availableParallelism } from "node:os";
import { spawn } from "node:child_process";
import { done, equal, test, thrown, yes } from "./check.mjs";

const { Sha256 } = await import(`${process.env.SOLO_PAGE}/sha256.js`);
const { bars } = await import(`${process.env.SOLO_PAGE}/plot.js`);
const { bytes, seconds, short, splitThoughts } = await import(`${process.env.SOLO_PAGE}/format.js`);

await test("SHA-256 of what comes in pieces", () => {
    for (const size of [0, 1, 55, 56, 63, 64, 65, 119, 120, 1000, 100_000]) {
        const data = randomBytes(size), hash = new Sha256();
        for (let at = 0; at < size; at += 1 + (at % 97)) hash.add(data.subarray(at, at + 1 + (at % 97)));
        equal(hash.end(), createHash("sha256").update(data).digest("hex"), `${size} bytes`);
    }
});

await test("numbers for people", () => {
    equal([bytes(3_915_040), bytes(4.7e9), bytes(900)], ["3.9 MB", "4.70 GB", "1 kB"]);
    equal([seconds(0.25), seconds(4.2), seconds(300)], ["250 ms", "4.2 s", "5 min"]);
    equal([short(35), short(0.0123), short(1234.5), short(NaN)], ["35", "0.012", "1235", "–"]);
});

await test("thoughts and answers", () => {
    equal(splitThoughts("<think>\nhm\n</think>\n\nYes."), { thoughts: "hm", answer: "Yes." });
    equal(splitThoughts("hm</think>Yes </think>"), { thoughts: "hm", answer: "Yes </think>" }, "the template wrote the first tag");
    equal(splitThoughts(" <think>still"), { thoughts: "still", answer: "" });
    equal(splitThoughts(" Hello <think>"), { thoughts: "", answer: "Hello <think>" });
});

await test("plots leave nothing of a name as markup, and say what cannot be told", () => {
    const figure = bars({ title: "<b>", rows: ["a", "b"], unit: "us", log: true, series: [{ name: "<script>", values: { a: { median: 2, lo: 1, hi: 3 }, b: { median: 1, lo: -1, hi: 4 } } }] });
    yes(!figure.includes("<script>") && !figure.includes("<b>"), "markup");
    yes(figure.includes("cannot tell") && figure.includes(">2<"), "figures");
    equal(bars({ title: "x", rows: ["a"], unit: "us", series: [{ name: "y", values: {} }] }), "");
});

await test("what is no finding is not printed as one: costs of nothing, gains within the noise, a busy machine", async () => {
    const figure = bars({ title: "x", rows: ["a"], unit: "µs", series: [{ name: "y", values: { a: { median: -2, lo: -3, hi: 1 } } }, { name: "z", values: { a: { median: 2, lo: 1, hi: 3 } } }] });
    yes(!/-2/.test(figure) && /y, a: cannot tell; z, a: 2 µs/.test(figure), figure);
    const { whyBusy, lookBusy } = await import(`${process.env.SOLO_PAGE}/quiet.js`), idle = Array.from({ length: 16 }, (_, i) => 8 + 0.01 * i);
    equal(whyBusy(idle), null);
    equal(whyBusy(idle.map((_, i) => (i % 3 ? 100 : 0))), null, "a clock of steps of 100 ms says nothing of tasks of 60");
    equal(whyBusy(idle.map((ms, i) => (i < 2 ? 3 * ms : ms))), null, "a few tasks are interrupted everywhere");
    yes(/busy with something else.*1\.6 times/.test(whyBusy(idle.map((ms, i) => (i < 5 ? 3 * ms : ms)))), "a third of them are not");
    const others = Array.from({ length: 2 * availableParallelism() }, () => spawn(process.execPath, ["-e", "console.log(1); for (;;);"]));
    await Promise.all(others.map((other) => new Promise((begun) => other.stdout.once("data", begun))));
    const said = lookBusy();
    for (const other of others) other.kill("SIGKILL");
    yes(/busy with something else/.test(said), `beside two others on each processor: ${said}`);
});

await test("a hub's files: what is a model, which one fits, and nothing that leads elsewhere", async () => {
    const { choose, modelsIn, repositoryIn } = await import(`${process.env.SOLO_PAGE}/catalogue.js`), hub = "https://hub.example";
    const file = (path, size, more = {}) => ({ type: "file", path, size, ...more }), oid = "a".repeat(64);
    const { models, parts } = modelsIn([file("m-Q8_0.gguf", 8e9), file("m-Q4_K_M.gguf", 140, { lfs: { oid, size: 4.5e9 } }), file("m.Q2_K.gguf", 2.4e9), file("../m.gguf", 1e9), file("a/.b/m.gguf", 1e9), file("mmproj-m.gguf", 1e9),
        file("m-00001-of-00002.gguf", 1e9), file("m-F16.gguf", -1), file("README.md", 1), { type: "directory", path: "x" }, null, "x"]);
    equal([models.map(({ path, type, size }) => [path, type, size]), parts], [[["m-Q8_0.gguf", "Q8_0", 8e9], ["m-Q4_K_M.gguf", "Q4_K_M", 4.5e9], ["m.Q2_K.gguf", "Q2_K", 2.4e9]], 1]);
    equal([models[1].sha256, models[0].sha256 ?? null], [oid, null]);
    equal([24e9, 6e9, 4e9, 2e9].map((memory) => choose(models, memory).model.type), ["Q4_K_M", "Q4_K_M", "Q2_K", "Q2_K"]);
    yes(/^Q4_K_M does not fit: Q4_K_M needs about 5\.2\d GB with its cache; Q2_K needs about 3\.02 GB/.test(choose(models, 4e9).why), choose(models, 4e9).why);
    yes(!choose(models, 2e9).fits && /^None fits into 2\.00 GB/.test(choose(models, 2e9).why), choose(models, 2e9).why);
    equal(["ann/tale", " https://hub.example/ann/tale/tree/main ", "ann/tale:Q4_0", "tale", "a tale/of two", "../x", "ann/../x"].map((text) => repositoryIn(text, hub)), ["ann/tale", "ann/tale", "ann/tale", null, null, null, null]);
    yes(/no list/.test((await thrown(async () => modelsIn({ error: "x" }))).message), "an error is no list");
});

await test("a stop is heard while a long prompt is read, though the GPU is still at it", async () => {
    const { Engine } = await import(`${process.env.SOLO_PAGE}/engine.js`), stop = new AbortController(), said = [];
    const engine = Object.assign(new Engine(), {
        wasm: { exports: { solo_interrupted: () => 0, solo_add_message: () => {} }, memory: () => ({ buffer: new ArrayBuffer(8) }), withTexts: async (texts, act) => act(0) },
        call: async () => 0, ask: (name) => new Promise((end) => setTimeout(() => end({ end: "interrupted" }), name === "solo_answer" ? 3000 : 0)),
    });
    setTimeout(() => stop.abort(), 100);
    const began = performance.now(), { end } = await engine.answer({ messages: [{ role: "user", content: "long" }], signal: stop.signal, onText: (text) => said.push(text) });
    equal([end, said.length, performance.now() - began < 700], ["interrupted", 0, true]);
});

await test("what a model summarises when the context is full", async () => {
    const { compacted, transcriptOf } = await import(`${process.env.SOLO_PAGE}/context.js`), messages = [{ role: "user", content: "I am Ann" }, { role: "assistant", content: "<think>hm</think> Hello Ann" }, { role: "user", content: "Who am I?" }];
    equal(transcriptOf(messages.slice(0, 2), 100), "user: I am Ann\nassistant: Hello Ann");
    equal(transcriptOf(messages, 8), "m I?".padStart(8, "user: Who a".slice(-4)));
    let asked = null;
    const answerer = (end) => ({ model: { context: 100 }, chat: { completions: { create: async (request) => ((asked = request), (async function* () { yield { choices: [{ delta: { content: "She is Ann." } }] }; yield { choices: [{ delta: {} }], solo: { end } }; })()) } } });
    equal(await compacted(answerer("stop"), messages, { temperature: 0 }), [{ role: "user", content: "What was said before, in short: She is Ann.\n\nWho am I?" }]);
    yes(asked.temperature === 0 && asked.messages.length === 1 && /Hello Ann$/.test(asked.messages[0].content), asked.messages[0].content);
    equal(await compacted(answerer("interrupted"), messages, {}), null, "a summary that was stopped is none");
    const long = [{ role: "user", content: "x".repeat(300) }, messages[2]], lengths = [], { chat } = answerer("stop"), most = { model: { context: 100 }, chat: { completions: { create: async (request) => {
        lengths.push(request.messages[0].content.match(/x*$/)[0].length);
        if (lengths.length === 1) throw new Error("too many");
        return chat.completions.create(request);
    } } } };
    yes(/in short: She is Ann/.test((await compacted(most, long, {}))[0].content), "less of it, where a letter is a token");
    equal(lengths, [200, 40]);
});

await test("browsers by their names", async () => {
    const { hostName } = await import(`${process.env.SOLO_PAGE}/gpu.js`), chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36";
    const names = [chrome, `${chrome} Edg/140.1.2.3`, `${chrome} OPR/124.0.0.0`].map((userAgent) => {
        Object.defineProperty(globalThis, "navigator", { value: { userAgent }, configurable: true });
        return hostName();
    });
    equal(names, ["Chrome 140.0.0.0", "Edge 140.1.2.3", "Opera 124.0.0.0"]);
});

await test("what was measured stands in the explanation, and nothing of it as markup", async () => {
    const measured = { costs: { batch: { median: 2, lo: 1, hi: 3 } }, device: "<img src=x>", page: "<b>" }, into = {};
    globalThis.localStorage = { getItem: () => JSON.stringify(measured) };
    const { showHow } = await import(`${process.env.SOLO_PAGE}/how.js`), plainFetch = globalThis.fetch;
    globalThis.fetch = async () => new Response(JSON.stringify({ llm: [{ dispatches: { none: 300, ops: 100 } }] }));
    await showHow(into).finally(() => (globalThis.fetch = plainFetch));
    Object.assign(measured, { rates: { loop: { median: 30, lo: 20, hi: 40 }, none: { median: 20, lo: 15, hi: 25 } } });
    globalThis.fetch = async () => new Response(JSON.stringify({ llm: [{ dispatches: { none: 300, ops: 100 } }] }));
    await showHow(into).finally(() => (globalThis.fetch = plainFetch));
    yes(/cannot be told: the intervals of the two overlap/.test(into.innerHTML), "no gain within the noise");
    measured.rates.loop.lo = 26;
    await showHow(into);
    yes(/>1\.50×</.test(into.innerHTML), "one that is a gain");
    yes(into.innerHTML.includes("On &lt;img src=x&gt;, in &lt;b&gt;"), "names are escaped");
    measured.costs.batch.lo = -1;
    await showHow(into);
    yes(/No cost above zero was measured here/.test(into.innerHTML) && !/<table>/.test(into.innerHTML), "and no table without a figure");
});

await test("chat templates are run by a module of their own", async () => {
    const { Templates } = await import(`${process.env.SOLO_PAGE}/template.js`), templates = new Templates(), encode = (text) => new TextEncoder().encode(text);
    const opened = await templates.open(encode("{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content|trim }}{% endfor %}{{ strftime_now('%Y') }}"));
    const render = (packed, template = opened) => {
        let made;
        equal(templates.render(template, encode(packed), 1, 0) > 0, true);
        templates.take((text, plain) => (made = [new TextDecoder().decode(text.slice()), [...plain].join("")]));
        return made;
    };
    const year = String(new Date().getFullYear());
    equal(render("<s>\0</s>\0" + "0 Be. \0" + "1<é>\0"), [`<s><system>Be.<user><é>${year}`, "000" + "00000000" + "111" + "000000" + "1111" + "0000"]);
    const second = await templates.open(encode("{{ messages[0].content }}{{ raise_exception('no\\nmore') if messages|length > 1 }}"));
    equal(render("\0\0" + "1abc\0", second)[0], "abc");
    equal((await thrown(async () => templates.render(second, encode("\0\0" + "1a\0" + "2b\0"), 1, 0))).message, "chat template, line 1: no more");
    equal(await templates.open(encode("a\n{% if %}")).then(() => "", (error) => error.message), "chat template, line 2: expected an expression, not the end of a tag");
    const deep = await templates.open(encode("{% macro m(a) %}{% if a %}{% for x in [1] %}{{ ((m(a)))|upper }}{% endfor %}{% endif %}{% endmacro %}{{ m(1) }}"));
    equal((await thrown(async () => templates.render(deep, encode("\0\0" + "1a\0"), 1, 0))).message, "chat template, line 1: too deeply nested");
    templates.close(second);
    equal(render("<s>\0\0" + "1x\0")[0], `<s><user>x${year}`);
});

await test("the page's policy lets only its own scripts run: the one that stands in it by its hash", async () => {
    const { readFileSync } = await import("node:fs"), html = readFileSync(`${process.env.SOLO_PAGE}/index.html`, "utf8"), inline = [...html.matchAll(/<script>([^]*?)<\/script>/g)].map(([, text]) => text);
    const [, policy] = html.match(/http-equiv="Content-Security-Policy" content="([^"]*)"/), scripts = policy.match(/script-src ([^;]*)/)[1].split(" ");
    equal(scripts, ["'self'", "'wasm-unsafe-eval'", ...inline.map((text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`)]);
    yes(/default-src 'none'/.test(policy) && /style-src 'self';/.test(policy) && !/\sstyle=/.test(html), policy);
});

await test("what is kept for visits without a network is all of the page", async () => {
    const { readFileSync, readdirSync } = await import("node:fs");
    const listed = eval(readFileSync(`${process.env.SOLO_PAGE}/sw.js`, "utf8").match(/FILES = (\[[\s\S]*?\]);/)[1]);
    const apart = ["sw.js", "solo.d.ts", "sim.d.ts", "torch.d.ts", "in-place.d.ts", "in-place.js", "package.json", "example.html", "solo-sim.wasm", "solo-sim-asyncify.wasm", "solo-torch.wasm", "solo-torch-asyncify.wasm"]; // fetched by the browser itself, by those who want it, or by no visitor
    const there = readdirSync(process.env.SOLO_PAGE).filter((name) => !name.startsWith(".") && !apart.includes(name));
    equal(listed.filter((name) => name !== "./").sort(), there.sort());
});
await test("what is kept is given; what the host says, and what is not kept, comes from the network, whether it can be kept or not", async () => {
    const { readFileSync } = await import("node:fs"), source = readFileSync(`${process.env.SOLO_PAGE}/sw.js`, "utf8");
    yes(/"solo-page-[0-9a-f]{12}"/.test(source), "the cache has the build's name");
    const heard = {}, cache = { put: async () => { throw new Error("no room"); }, match: async (url) => (/format\.js/.test(url) ? undefined : new Response("old")), addAll: async () => {} };
    const run = new Function("self", "caches", "fetch", "addEventListener", source);
    let up = true;
    run({ registration: { scope: "http://a/" } }, { open: async () => cache }, async () => (up ? new Response("new") : Promise.reject(new TypeError("no network"))), (name, act) => (heard[name] = act));
    const ask = async (path) => {
        let answer;
        heard.fetch({ request: new Request(`http://a/${path}`), waitUntil: () => {}, respondWith: (given) => (answer = given) });
        return (await answer).text();
    };
    equal([await ask("chat.js"), await ask("format.js"), await ask("site.json")], ["old", "new", "new"]);
    up = false;
    equal(await ask("site.json"), "old");
});
done();
