// The page in a real browser: node page.mjs chromium|firefox
// EXPECTED, PROMPT, TOKENS as for hosts.mjs; screenshots go to build/screenshots.
import { serve } from "./server.mjs";
import { both, DATA, THROWN, whyNot } from "./sims.mjs";
import { checkRecord, done, equal, test, yes } from "./check.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO_PAGE, EXPECTED, SIM_EXPECTED, PROMPT, TOKENS } = process.env;
const MODEL = "models/builtin.gguf";
const { browser, heard, picture, click, textOf, ready, lastAnswer, answered, say, set } = await visit(name);
const server = await serve(SOLO_PAGE, { models: { "tale.gguf": MODEL } });
const far = await serve(SOLO_PAGE, { models: { "far.gguf": MODEL }, open: true, isolated: false });

await browser.size(1100, 800);
await test("the page opens, isolated, and loads its model by itself", async () => {
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    yes(await browser.evaluate(() => crossOriginIsolated), "cross-origin isolated");
    equal(await textOf("model-name"), "the built-in model");
    yes(/software/.test(await textOf("model-facts")), "software is said to be software");
});

await test("the native run's tokens, at every level", async () => {
    for (const level of ["none", "ops", "token", "loop"]) {
        const { text, model } = await browser.evaluate(async ([wanted, prompt, most]) => {
            await soloPage.solo.loadModel({ level: wanted, context: 64 });
            const made = await soloPage.solo.completions.create({ prompt, max_tokens: most, temperature: 0, repeat_penalty: 1 });
            return { text: made.choices[0].text, model: soloPage.solo.model };
        }, [level, PROMPT, Number(TOKENS)]);
        equal(model.level, level, model.notice ?? "");
        equal(PROMPT + text, EXPECTED, level);
    }
    const soon = await browser.evaluate(async ([prompt, most]) => {
        const { solo } = soloPage, { level, improving } = await solo.loadModel({ level: "loop", soon: true, context: 64 }), better = await solo.improved;
        const made = await solo.completions.create({ prompt, max_tokens: most, temperature: 0, repeat_penalty: 1 });
        return { levels: [level, improving, better.level, made.solo.level], text: made.choices[0].text };
    }, [PROMPT, Number(TOKENS)]);
    equal([soon.levels, PROMPT + soon.text], [["ops", true, "loop", "loop"], EXPECTED], "one dispatch that is made ready later");
    await browser.evaluate(() => soloPage.reload());
    await ready();
});

await test("simulations: the same bits in one dispatch and in one for each step, the native run's scores, an error's line", async () => {
    const inPage = (act, source, options) => browser.evaluate(`(${act})(soloPage.solo, ${JSON.stringify(source)}, ${JSON.stringify(options)})`);
    const cartpole = await inPage(both, "cartpole", { population: 33, steps: 60, seed: 5, chunkMs: 0 }), scores = SIM_EXPECTED.split(",").map(Number);
    yes(cartpole.same, "the same bits");
    equal(cartpole.dispatches, [1, 62]);
    yes(cartpole.scores.filter((score, i) => Math.abs(score - scores[i]) < 1e-3).length >= 31, `${cartpole.scores} instead of ${scores}`);
    const own = await inPage(both, THROWN, { population: 3, steps: 60, data: DATA, genomes: [[1], [2], [-1]], trace: { count: 2, every: 25 } });
    yes(own.same, "the same bits");
    equal(own.scores.map((x) => x.toFixed(3)), ["0.600", "1.200", "-0.600"]);
    const wrong = await inPage(whyNot, THROWN.replace("n.at.y < 0.0", "n.at.y < 0u"), { population: 3, steps: 2, data: DATA });
    yes(/^simulation\.wgsl:9: /.test(wrong.message), wrong.message);
});

await test("a conversation: streaming, stop, regenerate, settings, another visit", async () => {
    await browser.evaluate(() => {
        for (const [field, value] of [["temperature", 0], ["repeat_penalty", 1], ["max_tokens", 300]]) {
            const input = document.getElementById("settings").elements[field];
            input.value = value;
            input.dispatchEvent(new Event("input", { bubbles: true }));
        }
    });
    await say(PROMPT);
    await browser.until(() => document.querySelector(".assistant .text")?.textContent.length > 20);
    yes(!(await browser.evaluate(() => document.getElementById("stop").hidden)), "there is a stop button");
    await click("stop");
    yes(/^first token .*tokens\/s.*[\d.]+ MB of GPU memory.*34 dispatches a token \(ops\).*stopped/.test(await answered()), await answered());
    const first = await lastAnswer();
    yes(EXPECTED.startsWith(`${PROMPT} ${first.slice(0, 20)}`), first);
    await browser.evaluate(() => {
        const input = document.getElementById("settings").elements.max_tokens;
        input.value = 5;
        input.dispatchEvent(new Event("input", { bubbles: true }));
        [...document.querySelectorAll(".under button")].find((b) => b.textContent === "Regenerate").click();
    });
    await browser.until(() => /5 tokens/.test(document.querySelector(".assistant .facts")?.textContent));
    const second = await lastAnswer();
    yes(second.length && first.startsWith(second), `${second} begins ${first}`);
    await picture("chat");
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    equal(await lastAnswer(), second, "after a reload");
});

await test("a visit that ends in the middle of an answer, and settings that are none", async () => {
    await set({ max_tokens: 300 });
    await say(PROMPT);
    await browser.until(() => [...document.querySelectorAll(".assistant .text")].at(-1)?.textContent.length > 20 && document.querySelectorAll(".assistant").length === 2);
    const grows = await browser.evaluate(async () => {
        const said = [...document.querySelectorAll(".assistant .said")].at(-1), before = { node: said.firstChild, length: said.textContent.length };
        for (let i = 0; i < 200 && said.textContent.length === before.length; i++) await new Promise((next) => setTimeout(next, 50));
        return { busy: document.getElementById("log").ariaBusy, longer: said.textContent.length > before.length, same: said.isConnected && said.firstChild === before.node };
    });
    equal(grows, { busy: "true", longer: true, same: true }, "text is added, not replaced");
    await browser.evaluate(() => localStorage.setItem("solo-settings", JSON.stringify({ ...JSON.parse(localStorage.getItem("solo-settings")), max_tokens: "", temperature: -3, level: "all", nothing: 1 })));
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    yes((await lastAnswer()).length > 20, "what was said so far is there");
    yes(await browser.evaluate(() => [...document.querySelectorAll(".assistant")].at(-1).textContent.includes("Regenerate")), "and can be asked for again");
    equal(await browser.evaluate(() => document.getElementById("settings").elements.max_tokens.value), "256");
    yes(/cannot be used, and is as usual: temperature, longest answer, tokens, dispatches\./.test(await textOf("notices")), await textOf("notices"));
    equal((await set({ max_tokens: "" })).max_tokens, 256, "an empty field is the usual value");
    await set({ max_tokens: 5, temperature: 0 });
    await click("clear");
});

await test("thoughts are folded above the answer", async () => {
    await browser.goto(`${server.url}/style.css`); // a page that goes away keeps its messages: this one has none
    // as a visit before there were several conversations left it
    await browser.evaluate(() => {
        for (const key of Object.keys(localStorage)) if (key.startsWith("solo-conversation")) localStorage.removeItem(key);
        localStorage.setItem("solo-messages", JSON.stringify([{ role: "user", content: "1+1?" }, { role: "assistant", content: "<think>\nhm <b>\n</think>\n\nTwo." }]));
    });
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    const shown = await browser.evaluate(() => {
        const body = document.querySelector(".assistant .text"), details = body.querySelector("details");
        return { open: details.open, thoughts: details.querySelector("div").textContent, answer: body.lastChild.textContent.trim(), markup: body.querySelector("b") !== null };
    });
    equal(shown, { open: false, thoughts: "hm <b>", answer: "Two.", markup: false });
    await click("clear");
});

const MARKDOWN = `# Tall

A *word*, \`code\`, [a link](https://example.org/), [none](javascript:alert(1)), ![a cat](https://example.org/cat.png) and <img src=x onerror="document.title='bad'"><script>document.title = "bad"</script>.

| a | b |
| --- | --- |
| 1 | 2 |

\`\`\`js
let a = "<b>";
\`\`\`

Then $$x_1 * y_1 * z$$ and \\(a_b * c_d\\).`;

await test("answers are Markdown: code to copy, tables, formulas as written, and nothing that loads or runs", async () => {
    await browser.goto(`${server.url}/style.css`);
    await browser.evaluate((content) => {
        for (const key of Object.keys(localStorage)) if (key.startsWith("solo-conversation")) localStorage.removeItem(key);
        localStorage.setItem("solo-messages", JSON.stringify([{ role: "user", content: "?" }, { role: "assistant", content }]));
    }, MARKDOWN);
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    const shown = await browser.until(() => {
        const said = document.querySelector(".assistant .said"), links = [...(said?.querySelectorAll("a") ?? [])];
        return said?.querySelector("h1") && {
            title: document.title, heading: said.querySelector("h1").textContent, links: links.map((a) => [a.textContent, a.getAttribute("href"), a.rel]),
            cells: [...said.querySelectorAll("td")].map((td) => td.textContent), code: said.querySelector("pre").textContent.trim(), button: said.querySelector(".code button").textContent,
            formulas: [...said.querySelectorAll(".formula")].map((f) => f.textContent), loads: said.querySelectorAll("img, script, iframe, style, form, input, [onerror]").length, picture: /\[picture: a cat\]/.test(said.textContent),
        };
    });
    equal({ ...shown, links: shown.links.filter(([, href]) => href) }, {
        title: "Solo", heading: "Tall", links: [["a link", "https://example.org/", "noopener noreferrer"]], cells: ["1", "2"], code: 'let a = "<b>";', button: "Copy",
        formulas: ["$$x_1 * y_1 * z$$", "\\(a_b * c_d\\)"], loads: 0, picture: true,
    });
    await picture("markdown");
    // piece by piece it comes to the same, and what is complete is not made anew
    const grown = await browser.evaluate(async (content) => {
        const { Growing, render } = await import("./markdown.js"), into = document.createElement("div"), all = document.createElement("div"), growing = new Growing(into);
        let first = null, kept = true;
        for (let at = 0; at < content.length; at += 3) {
            growing.add(content.slice(at, at + 3));
            first ??= into.querySelector("h1");
            kept &&= !first || into.firstElementChild === first;
        }
        growing.end();
        all.append(render(content));
        return { same: into.textContent.replace(/\s+/g, " ").trim() === all.textContent.replace(/\s+/g, " ").trim(), elements: into.querySelectorAll("*").length - all.querySelectorAll("*").length, kept: kept && first !== null };
    }, MARKDOWN);
    equal(grown, { same: true, elements: 0, kept: true });
});

await test("several conversations: renamed, branched by an edit, exported, imported, deleted", async () => {
    await set({ max_tokens: 5 });
    await click("clear");
    await say("Tom");
    await answered();
    await browser.until(() => !soloPage.busy && document.querySelectorAll(".assistant .facts").length === 1);
    const first = await lastAnswer();
    await browser.evaluate(() => {
        const text = document.getElementById("text");
        text.value = "";
        text.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowUp", bubbles: true, cancelable: true }));
    });
    equal(await browser.evaluate(() => [document.getElementById("text").value, document.querySelectorAll("#messages .user").length, document.activeElement.id]), ["Tom", 0, "text"]);
    await say("Ann");
    await browser.until(() => !soloPage.busy && document.querySelector(".assistant .facts")?.textContent);
    const titles = async () => {
        await click("open-conversations");
        return browser.evaluate(() => [...document.querySelectorAll("#conversation-list .title")].map((b) => b.textContent));
    };
    equal((await titles()).slice(0, 2), ["Ann", "Tom"]);
    await picture("conversations");
    const named = await browser.evaluate(() => {
        globalThis.prompt = () => "The first";
        const press = (label) => [...document.querySelectorAll("#conversation-list button")].find((b) => b.getAttribute("aria-label") === label).click();
        press("Rename Tom");
        press("Open The first");
        return [document.querySelector("#messages .user .text").textContent, [...document.querySelectorAll(".assistant .text")].at(-1).textContent.trim()];
    });
    equal(named, ["Tom", first]);
    const again = await browser.evaluate(async () => {
        const { Conversations } = await import("./conversations.js"), talks = new Conversations(), text = talks.export(), before = talks.list.length, wrong = [];
        for (const [file, name] of [["{", "cut.json"], ["[]", "other.json"], ['{"solo":"conversations","conversations":[{"messages":[{"role":"root","content":"x"}]}]}', "bad.json"]])
            try { talks.import(file, name); } catch (error) { wrong.push(error.message.split(":")[0]); }
        return { came: talks.import(text, "all.json"), before, after: talks.list.length, wrong };
    });
    equal([again.came, again.after], [again.before, 2 * again.before]);
    equal(again.wrong, ["cut.json is no JSON", "other.json has no conversations", "bad.json has no conversations"]);
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    const left = await browser.evaluate(() => {
        globalThis.confirm = () => true;
        document.getElementById("open-conversations").click();
        for (let b; (b = [...document.querySelectorAll("#conversation-list button")].find((x) => x.textContent === "Delete"));) b.click();
        document.getElementById("conversations").close();
        return [document.querySelectorAll("#messages .user").length, Object.keys(localStorage).filter((key) => key.startsWith("solo-conversation-")).length];
    });
    equal(left, [0, 0]);
});

await test("Escape stops an answer, and the focus is where one writes", async () => {
    await set({ max_tokens: 300 });
    await say(PROMPT);
    await browser.until(() => document.querySelector(".assistant .text")?.textContent.length > 10);
    await browser.evaluate(() => document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true, cancelable: true })));
    yes(/stopped/.test(await answered()), await answered());
    equal(await browser.evaluate(() => document.activeElement.id), "text");
    await set({ max_tokens: 5 });
    await click("clear");
});

await test("a GGUF file from disk, and one that is none", async () => {
    await browser.evaluate(async () => {
        const blob = await (await fetch("/models/tale.gguf")).blob(), files = new DataTransfer();
        files.items.add(new File([blob], "mine.gguf"));
        const pick = document.getElementById("pick");
        pick.files = files.files;
        pick.dispatchEvent(new Event("change"));
    });
    await browser.until(() => document.getElementById("model-name").textContent === "mine.gguf");
    await ready();
    await browser.evaluate(() => {
        const files = new DataTransfer();
        files.items.add(new File(["not a model"], "letter.gguf"));
        dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
    });
    await browser.until(() => !document.getElementById("trouble").hidden);
    yes(/letter\.gguf is no GGUF file/.test(await textOf("trouble-text")), await textOf("trouble-text"));
    equal(await textOf("model-name"), "mine.gguf", "the model that was there stays");
    await browser.evaluate(async () => {
        const blob = await (await fetch("/models/tale.gguf")).blob(), files = new DataTransfer();
        files.items.add(new File([blob.slice(0, blob.size / 2)], "half.gguf"));
        document.getElementById("trouble").hidden = true;
        dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
    });
    await browser.until(() => !document.getElementById("trouble").hidden);
    yes(/half\.gguf: .* reach past the end/.test(await textOf("trouble-text")), await textOf("trouble-text"));
    equal([await textOf("model-name"), await browser.evaluate(() => document.getElementById("send").disabled)], ["mine.gguf", false], "it had made room, and is there again");
});

const loadUrl = (path, origin = server.url) => browser.evaluate((url) => {
    document.getElementById("change-model").click();
    document.getElementById("url").value = url;
    document.getElementById("from-url").requestSubmit();
}, `${origin}${path}`);

// Each request asks for the rest of what has come, which may be no more than before: a cut overtakes what was not read yet.
const wentOn = (requests) => {
    const from = requests.map(({ range }) => (range ? Number(/^bytes=(\d+)-$/.exec(range)?.[1]) : 0));
    return new Set(from).size >= 3 && from.every((at, i) => at >= (from[i - 1] ?? 0));
};

await test("a model from another origin that lets no header be read, and whose connection breaks", async () => {
    await loadUrl("/models/far.gguf?break=1500000", far.url);
    await browser.until(() => document.getElementById("model-name").textContent === "far.gguf" || !document.getElementById("trouble").hidden);
    await ready();
    equal(await textOf("model-name"), "far.gguf", await textOf("trouble-text"));
    yes(wentOn(far.requests), `it went on where it broke off: ${JSON.stringify(far.requests)}`);
    await browser.evaluate(async () => {
        for (const { key } of await soloPage.solo.models.list()) await soloPage.solo.models.delete(key);
    });
});

await test("a model from a URL whose connection breaks again and again, checked and kept", async () => {
    server.requests.length = 0;
    await loadUrl("/models/tale.gguf?break=1500000&tag=sha256");
    await browser.until(() => document.getElementById("model-name").textContent === "tale.gguf");
    await ready();
    const parts = server.requests.filter((r) => r.path.startsWith("/models/"));
    yes(wentOn(parts), `it went on where it broke off: ${JSON.stringify(parts)}`);
    server.requests.length = 0;
    await loadUrl("/models/tale.gguf?break=1500000&tag=sha256");
    await browser.until(() => soloPage.busy, 5000).catch(() => {});
    await ready();
    equal(server.requests.filter((r) => r.path.startsWith("/models/")), [], "the second time it is here");
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    equal([await textOf("model-name"), server.requests.filter((r) => r.path.startsWith("/models/"))], ["tale.gguf", []], "the next visit has it by itself");
    await click("change-model");
    await browser.until(() => document.querySelector("#kept button") !== null);
    yes(/tale\.gguf · 3\.9 MB/.test(await textOf("kept")), await textOf("kept"));
    await picture("models");
    const room = () => browser.evaluate(() => document.getElementById("kept-room").textContent), before = await room();
    await browser.evaluate(() => {
        const press = () => [...document.querySelectorAll("#kept button")].find((b) => b.textContent === "Delete").click();
        globalThis.confirm = () => false;
        press();
        globalThis.confirm = () => true;
        press();
    });
    await browser.until(() => /Nothing yet/.test(document.getElementById("kept").textContent));
    yes(/MB used of the/.test(before), before);
    await browser.until((was) => document.getElementById("kept-room").textContent !== was, 10_000, before);
    const [had, has] = [before, await room()].map((text) => parseFloat(text));
    yes(had - has > 3 && had - has < 5, `room is freed: ${before}, then ${await room()}`);
    await browser.goto(`${server.url}/?rounds=2`);
    await ready();
    equal([await textOf("model-name"), await textOf("model-note-text")], ["the built-in model", "The model of your last visit is not kept here any more."]);
    await loadUrl("/models/tale.gguf");
    await browser.until(() => document.getElementById("model-name").textContent === "tale.gguf");
    await ready();
});

await test("a download that is not what was sent, one that is cancelled, one that is not there", async () => {
    await loadUrl("/models/tale.gguf?tag=wrong");
    await browser.until(() => !document.getElementById("trouble").hidden);
    yes(/SHA-256 differs/.test(await textOf("trouble-text")), await textOf("trouble-text"));
    await loadUrl("/models/tale.gguf?slow=200");
    await browser.until(() => / of 3\.9 MB .*left/.test(document.getElementById("loading-text").textContent));
    await click("loading-cancel");
    await ready();
    yes(await browser.evaluate(() => document.getElementById("trouble").hidden), "a cancel is no trouble");
    await loadUrl("/models/other.gguf");
    await browser.until(() => !document.getElementById("trouble").hidden);
    yes(/404/.test(await textOf("trouble-text")), await textOf("trouble-text"));
    equal(await textOf("model-name"), "tale.gguf", "the model that was there stays");
});

await test("the device is lost: a sentence, the text stays, and it goes on", async () => {
    await browser.evaluate(() => soloPage.solo.loseDevice());
    const before = await browser.evaluate(() => document.querySelectorAll("#messages .user").length);
    await say("and then");
    await browser.until(() => !document.getElementById("trouble").hidden && !soloPage.busy);
    yes(/The GPU went away/.test(await textOf("trouble-text")), await textOf("trouble-text"));
    equal(await browser.evaluate(() => document.querySelectorAll("#messages .user").length), before + 1);
    await click("trouble-again");
    await browser.until(() => !soloPage.busy && document.getElementById("trouble").hidden);
    await browser.evaluate(() => [...document.querySelectorAll(".user button")].find((b) => b.textContent === "Answer").click());
    await browser.until(() => !soloPage.busy && /5 tokens/.test([...document.querySelectorAll(".facts")].at(-1)?.textContent));
    equal(await browser.evaluate(() => document.querySelectorAll("#messages .user").length), before + 1, "the question is answered, not asked again");
});

await test("the measurement, and its records", async () => {
    await browser.evaluate(() => {
        globalThis.saved = [];
        URL.createObjectURL = (blob) => (saved.push(blob), "about:blank#");
        HTMLAnchorElement.prototype.click = () => {};
        location.hash = "#measure";
        document.getElementById("measure-start").click();
        // as if another tab was looked at meanwhile
        Object.defineProperty(document, "hidden", { value: true, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
        delete document.hidden;
    });
    await browser.until(() => document.getElementById("measuring-bar").value > 0);
    await browser.until(() => document.querySelector("[data-save=llm]") !== null || !document.getElementById("trouble").hidden);
    equal(await browser.evaluate(() => (document.getElementById("trouble").hidden ? "" : document.getElementById("trouble-text").textContent)), "");
    const [dispatch, llm, decoder] = await browser.evaluate(async () => {
        for (const button of document.querySelectorAll("[data-save]")) button.click();
        return Promise.all(saved.map(async (blob) => JSON.parse(await blob.text())));
    });
    checkRecord(dispatch, { experiment: "dispatch", impls: ["web", "stub"] });
    checkRecord(llm, { experiment: "llm" });
    checkRecord(decoder, { experiment: "decoder" });
    equal(decoder.results.map((r) => [r.params.submit, r.dispatches, r.n]), [["sync", 1024, 3], ["each", 1024, 3], ["pass", 1024, 3], ["batch", 1024, 3], ["one", 1, 3]]);
    yes(/A small decoder: 1,024 dispatches, or one.*Over one dispatch: wait for each/s.test(await textOf("measured")), "it is drawn");
    yes([dispatch, llm, decoder].every((record) => record.checks.some((c) => c.what === "the page was in sight" && !c.ok)), "that it was in the background is noted");
    yes(/in the background/.test(await textOf("measured")) && /It took/.test(await textOf("measure-clock")), "and said");
    yes(/Not so: the page was in sight: the tab was in the background/.test(await textOf("measured")), "among the checks, as one that failed");
    const checks = await browser.evaluate(() => [...document.querySelectorAll("#measured li")].map((li) => li.textContent));
    equal(checks.length, new Set(checks).size, "each check once");
    yes(/Dispatches a token: per operator .*per group \(ops\) .*per token 1, many tokens/.test(await textOf("measured")), "levels in the figure's order");
    yes(/RTX 4070 \(published by others\)/.test(await textOf("measured")), "what others publish stands there as theirs");
    equal(llm.results.map((r) => r.params.fuse).sort(), ["loop", "none", "ops", "token"]);
    yes(dispatch.host.cross_origin_isolated && dispatch.clock_ns <= 50_000, `the clock: ${dispatch.clock_ns} ns`);
    await browser.size(1100, 1900);
    await picture("measured");
});

await test("sharing a measurement: nothing is sent before it was shown", async () => {
    const { before, shown, sent, said, asked } = await browser.evaluate(async () => {
        const box = document.querySelector("[data-share]"), real = fetch, sent = [], part = (name) => box.querySelector(name);
        globalThis.fetch = async (url, options) => {
            sent.push([url, options?.body]);
            if (options && sent.length > 2) return new Response("record: checks[5] (<b>in sight</b>) failed", { status: 400 });
            return Response.json(options ? { id: "ab", page: "/records/ab" } : { standing: [{ family: "dispatch", subject: "smallest kernel", variant: "one", unit: "us", value: 1.5, others: 91, better_than: 0.64 }] });
        };
        part("[data-show]").click();
        const before = sent.length, shown = part("pre").textContent.split("\n");
        part("[data-send]").click();
        const asked = part("[data-said]").textContent;
        part("input").value = "https://collector.example/";
        part("[data-send]").click();
        while (part("[data-send]").disabled || !part("a")) await new Promise((resolve) => setTimeout(resolve, 10));
        globalThis.fetch = real;
        return { before, shown, sent, said: part("[data-said]").innerHTML, asked };
    });
    equal(before, 0, "showing sends nothing");
    yes(/Where to/.test(asked), asked);
    equal(sent.map(([url]) => url), ["https://collector.example/api/records", "https://collector.example/api/records/ab/standing", "https://collector.example/api/records", "https://collector.example/api/records"]);
    equal([sent[0][1], sent[2][1], sent[3][1]], shown, "what was shown is what is sent");
    yes(shown.length === 3 && shown.every((text) => JSON.parse(text).schema === "solo-record-1" && !("tokens" in JSON.parse(text))), "all records, without tokens");
    yes(/smallest kernel, one: 1.50 µs, faster than 64% of 91 others/.test(said) && said.includes('href="https://collector.example/records/ab"'), said);
    yes(/Not taken: record: checks\[5\] \(&lt;b&gt;in sight/.test(said), said);
});

await test("what was measured is shown, though the model cannot be and others' figures are not there", async () => {
    await browser.evaluate(() => {
        const { solo } = soloPage, plainFetch = fetch;
        solo.benchDispatch = async () => JSON.parse(await saved[0].text());
        solo.benchLlm = async () => { throw new Error("no such luck"); };
        solo.benchDecoder = async () => { throw new Error("nor a decoder"); };
        globalThis.fetch = (url, ...rest) => (/reference/.test(url) ? Promise.reject(new TypeError("no network")) : plainFetch(url, ...rest));
        globalThis.restore = () => {
            delete solo.benchDispatch;
            delete solo.benchLlm;
            delete solo.benchDecoder;
            globalThis.fetch = plainFetch;
        };
        document.getElementById("measured").replaceChildren();
        document.getElementById("measure-start").click();
    });
    await browser.until(() => !soloPage.busy);
    await browser.evaluate(() => restore());
    yes(/could not be measured: no such luck/.test(await textOf("measured")), await textOf("trouble-text"));
    yes(/could not be measured: nor a decoder/.test(await textOf("measured")), await textOf("measured"));
    yes(await browser.evaluate(() => document.querySelector("[data-save=dispatch]") && !document.querySelector("[data-save=llm]")), "the record that there is");
});

await test("a measurement that is cancelled", async () => {
    await click("measure-start");
    await browser.until(() => document.getElementById("measuring-bar").value > 0);
    await click("measure-cancel");
    await ready();
    yes(await browser.evaluate(() => document.getElementById("trouble").hidden && document.getElementById("measuring").hidden), "all is calm");
    await browser.until(() => soloPage.solo?.model && !soloPage.busy);
    equal(await browser.evaluate(() => soloPage.solo.model.name), "tale.gguf", "the model is the same");
});

await test("a phone, dark, and what the page asks others for: nothing", async () => {
    await browser.evaluate(() => (location.hash = "#how"));
    await browser.until(() => document.querySelector("#how table") !== null);
    await browser.evaluate(() => new Promise((next) => {
        addEventListener("hashchange", next, { once: true });
        location.hash = document.querySelector(".skip").hash;
    }).then(() => {}));
    yes(!(await browser.evaluate(() => document.getElementById("how").hidden)), "to skip to the content leaves the view");
    await browser.size(390, 800);
    await browser.dark?.(true);
    await picture("how-phone-dark");
    const smallest = await browser.evaluate(async () => {
        const { bars } = await import("./plot.js"), into = document.createElement("div");
        into.innerHTML = bars({ title: "A plot", rows: ["all in one pass"], unit: "µs", series: [{ name: "here", values: { "all in one pass": { median: 2, lo: 1, hi: 3 } } }] });
        document.getElementById("how").append(into);
        return Math.min(...[...document.querySelectorAll("#how svg text")].map((text) => text.getBoundingClientRect().height));
    });
    yes(smallest >= 12, `letters in pictures and plots can be read: ${smallest} px high`);
    await browser.evaluate(() => (location.hash = "#chat"));
    await browser.until(() => !document.getElementById("chat").hidden);
    await picture("chat-phone-dark");
    const wide = await browser.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    yes(wide <= 0, `nothing is wider than the screen (${wide} px)`);
    const foreign = await browser.evaluate(() => performance.getEntriesByType("resource").map((e) => e.name).filter((url) => !url.startsWith(location.origin) && !url.startsWith("blob:")));
    equal(foreign, []);
    const ran = await browser.evaluate(async () => {
        const script = document.createElement("script");
        script.textContent = "globalThis.strange = 1";
        document.head.append(script);
        const refused = new Promise((heard) => document.addEventListener("securitypolicyviolation", (event) => heard(event.violatedDirective), { once: true }));
        const button = document.createElement("button");
        button.setAttribute("onclick", "globalThis.strange = 2");
        button.click();
        return [globalThis.strange ?? null, await refused];
    });
    equal([ran[0], /^script-src/.test(ran[1])], [null, true], "a script that is not the page's does not run");
    const errors = heard.filter((line) => line.startsWith("error:") || (/Content.Security.Policy/i.test(line) && !/strange|script-src/.test(line)));
    equal(errors, [], "scripts threw nothing, and the page keeps to its policy");
});

await browser.close();
server.close();
far.close();
done();
