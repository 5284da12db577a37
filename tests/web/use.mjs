// The page in use, in a real browser: by keyboard, on a phone, with a conversation that is longer than the screen, with a
// model of one's own. node use.mjs chromium|firefox
import { readFileSync, statSync } from "node:fs";
import { done, equal, test, yes } from "./check.mjs";
import { serve } from "./server.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO_PAGE } = process.env, MODEL = "models/builtin.gguf", LONG = "a-model-whose-name-is-longer-than-a-phone-is-wide-Q4_K_M.gguf";
const { browser, heard, picture, click, textOf, ready, answered, say, set, press } = await visit(name);
const server = await serve(SOLO_PAGE, { models: { "tale.gguf": MODEL } });
server.other["/site.json"] = JSON.stringify({ hub: server.url });
server.other["/api/models/ann/tale/tree/main"] = JSON.stringify([{ type: "file", path: LONG, size: statSync(MODEL).size }]);
const { keyboard } = browser.page;
const focused = () => browser.evaluate(() => document.activeElement.id);
const count = (what) => browser.evaluate((selector) => document.querySelectorAll(selector).length, what);
const talks = () => browser.evaluate(() => JSON.parse(localStorage.getItem("solo-conversations")).map((c) => c.title));
const atEnd = () => browser.evaluate(() => {
    const list = document.getElementById("messages");
    return Math.round(list.scrollHeight - list.scrollTop - list.clientHeight) <= 1;
});
/** A visit that finds this conversation. */
async function comeBack(messages) {
    await browser.goto(`${server.url}/style.css`); // a page that goes away keeps its messages: this one has none
    await browser.evaluate((kept) => {
        for (const key of Object.keys(localStorage)) if (key.startsWith("solo-conversation")) localStorage.removeItem(key);
        localStorage.setItem("solo-messages", JSON.stringify(kept));
    }, messages);
    await browser.goto(`${server.url}/`);
    await ready();
}

await browser.size(1280, 800);
await test("by keyboard: one writes at once, Tab and Enter send, Escape stops, the up-arrow edits, Escape leaves it as it was", async () => {
    await browser.goto(`${server.url}/`);
    await ready();
    equal(await focused(), "text", "where one begins");
    await set({ max_tokens: 300, temperature: 0 });
    await keyboard.type("Once upon a time");
    await keyboard.press("Tab");
    equal(await focused(), "send");
    await keyboard.press("Enter");
    await browser.until(() => document.querySelector(".assistant .text")?.textContent.length > 10);
    equal(await focused(), "text", "while it is answered");
    await keyboard.press("Escape");
    yes(/stopped/.test(await answered()), await answered());
    equal(await focused(), "text", "after a stop");
    await keyboard.press("ArrowUp");
    yes(/begins a conversation of its own/.test(await textOf("notices")), await textOf("notices"));
    equal([await browser.evaluate(() => document.getElementById("text").value), await count("#messages .text")], ["Once upon a time", 0]);
    await picture("edit");
    await keyboard.press("Escape");
    equal([await browser.evaluate(() => document.getElementById("text").value), await count("#messages .text"), await talks(), await textOf("notices")], ["", 2, ["Once upon a time"], ""]);
    await set({ max_tokens: 5 });
    await keyboard.press("ArrowUp");
    await keyboard.type(" there");
    await keyboard.press("Enter");
    await answered();
    equal([await talks(), await textOf("notices"), await focused()], [["Once upon a time there", "Once upon a time"], "", "text"], "a branch, and the other one stays");
    await keyboard.press("Escape");
    equal(await count("#messages .text"), 2, "that is over by now");
});

await test("a conversation is deleted only if one means it", async () => {
    await click("open-conversations");
    const left = await browser.evaluate(() => {
        const asked = [];
        globalThis.confirm = (text) => (asked.push(text), asked.length > 1);
        const press = () => [...document.querySelectorAll("#conversation-list button")].find((b) => b.textContent === "Delete").click(), titles = () => document.querySelectorAll("#conversation-list .title").length;
        press();
        const first = titles();
        press();
        return [first, titles(), asked[0]];
    });
    equal(left, [2, 1, "Delete “Once upon a time there”? It cannot be brought back."]);
    await browser.evaluate(() => document.getElementById("conversations").close());
    await click("clear");
});

await test("the end of a conversation stays in sight, however fast it grows, unless one looks elsewhere", async () => {
    const grow = (lookUp) => browser.evaluate(async (up) => {
        const { completions } = soloPage.solo.chat, real = completions.create, list = document.getElementById("messages");
        completions.create = async () => (async function* () {
            for (let i = 0; i < 60; i++) {
                yield { choices: [{ delta: { content: `Line ${i}\n\nand more\n\n` } }] };
                if (up && i === 40) list.scrollTop = 0;
                if (i % 5 === 0) await new Promise((next) => setTimeout(next, 20));
            }
            yield { choices: [{ delta: {} }], solo: { end: "stop", tokens: 1, tokens_per_s: 1, first_token_s: 1, dispatches_per_token: 1, level: "ops" } };
        })();
        document.getElementById("text").value = "Write";
        document.getElementById("composer").requestSubmit();
        while (soloPage.busy) await new Promise((next) => setTimeout(next, 20));
        completions.create = real;
        return list.scrollTop;
    }, lookUp);
    await grow(false);
    await browser.until(() => document.querySelectorAll(".assistant .said p").length > 100);
    yes(await atEnd(), "the end is in sight");
    await browser.size(1280, 500);
    await new Promise((next) => setTimeout(next, 300));
    yes(await atEnd(), "also when there is less room");
    await browser.size(1280, 800);
    equal(await grow(true), 0, "who reads the beginning is left there");
    await click("clear");
});

const ANSWER = `| algorithm | average | worst | memory |
| --- | ---: | --- | :---: |
| quicksort | n log n | n² | log n |

3. third
4. fourth

${"Words. ".repeat(400)}

\`\`\`python
return quicksort([x for x in rest if x < p]) + [p] + quicksort([x for x in rest if x >= p])
\`\`\`
`;
await test("a long answer: its end at the next visit, whole words in tables, code that no button hides", async () => {
    await comeBack(Array.from({ length: 6 }, (_, i) => (i % 2 ? { role: "assistant", content: ANSWER, report: { tokens: 5, tokens_per_s: 5, first_token_s: 1 } } : { role: "user", content: "?" })));
    await browser.until(() => document.querySelector(".code") !== null);
    yes(await atEnd(), "the end is in sight");
    await browser.size(390, 800);
    const seen = await browser.evaluate(() => {
        const cells = [...document.querySelector(".said").querySelectorAll("th, td")], button = document.querySelector(".code button").getBoundingClientRect(), code = document.querySelector(".code pre").getBoundingClientRect();
        return {
            lines: cells.filter((cell) => /^\w+$/.test(cell.textContent)).map((cell) => Math.floor(cell.clientHeight / parseFloat(getComputedStyle(cell).lineHeight))),
            aligned: cells.slice(0, 4).map((cell) => getComputedStyle(cell).textAlign.replace(/.*(left|center|right).*/, "$1").replace("start", "left")),
            apart: button.bottom <= code.top + 1, first: document.querySelector(".said ol").start, language: document.querySelector(".code span").textContent,
        };
    });
    equal(seen, { lines: [1, 1, 1, 1, 1], aligned: ["left", "right", "left", "center"], apart: true, first: 3, language: "python" });
    await browser.evaluate(() => document.querySelector(".said table").scrollIntoView());
    yes(await browser.evaluate(() => document.documentElement.scrollHeight <= innerHeight), "only the conversation scrolls, not the page");
    await picture("answer-phone");
    await click("clear");
});

/** What stands beyond the edges of an element that does not scroll sideways. */
const beyond = (selector) => browser.evaluate((what) => {
    const box = document.querySelector(what), { left, right } = box.getBoundingClientRect(), scrolls = (e) => e !== box && (e.matches(".scroll, pre, .hidden, input.pick") || (e.parentElement && e.parentElement !== box && scrolls(e.parentElement)));
    return [...box.querySelectorAll("*")].filter((e) => !scrolls(e)).filter((e) => {
        const r = e.getBoundingClientRect();
        return r.width > 0 && (r.left < left - 1 || r.right > right + 1);
    }).map((e) => `${e.tagName} ${e.id || e.textContent.slice(0, 20)}`);
}, selector);

await test("on a phone nothing is cut: settings, models, a hub's files, conversations, a program of PyTorch, trouble", async () => {
    await browser.size(390, 800);
    await click("open-settings");
    equal(await beyond("#settings"), []);
    equal(await browser.evaluate(() => getComputedStyle(document.getElementById("settings")).gridTemplateColumns.split(" ").length), 2, "two settings beside each other");
    await click("open-settings");
    await click("change-model");
    await browser.until(() => document.getElementById("catalogue").onsubmit !== null);
    await browser.evaluate(() => {
        document.getElementById("repository").value = "ann/tale";
        document.getElementById("catalogue").requestSubmit();
    });
    await browser.until(() => document.getElementById("found").textContent.includes("Load it"));
    equal(await beyond("#models"), []);
    await picture("models-phone");
    await browser.evaluate(() => document.getElementById("models").close());
    await set({ max_tokens: 5 });
    await say("A conversation whose title is longer than a phone is wide");
    await answered();
    await click("open-conversations");
    equal(await beyond("#conversations"), []);
    await picture("conversations-phone");
    await browser.evaluate(() => document.getElementById("conversations").close());
    await browser.evaluate((base64) => {
        const files = new DataTransfer();
        files.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], "convnet.pt2"));
        dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
    }, readFileSync("tests/data/torch/convnet.pt2").toString("base64"));
    await browser.until(() => document.getElementById("program").open || !document.getElementById("trouble").hidden);
    await press("Run", "#program");
    await browser.until(() => /took/.test(document.getElementById("program").textContent));
    equal(await beyond("#program"), []);
    await picture("program-phone");
    await browser.evaluate(() => document.getElementById("program").close());
    await browser.evaluate(() => {
        const files = new DataTransfer();
        files.items.add(new File(["x"], "cat.png", { type: "image/png" }));
        dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
    });
    yes(/Pictures cannot be read here/.test(await textOf("trouble-text")), "a picture is refused");
    equal(await beyond("#trouble"), []);
    const edges = await browser.evaluate(() => {
        const { left, right } = document.getElementById("trouble").getBoundingClientRect();
        return [left > 5, right < innerWidth - 5];
    });
    equal(edges, [true, true], "and the line stands off the edges");
    await click("trouble-close");
    yes(await browser.evaluate(() => document.getElementById("trouble").hidden), "it can be put away");
    await browser.size(1280, 800);
});

const openFile = () => browser.evaluate(async () => {
    const blob = await (await fetch("/models/tale.gguf")).blob(), file = new File([blob], "mine.gguf"), pick = document.getElementById("pick");
    if (!globalThis.showOpenFilePicker) {
        const files = new DataTransfer();
        files.items.add(file);
        pick.files = files.files;
        pick.dispatchEvent(new Event("change"));
        return;
    }
    const handle = await (await navigator.storage.getDirectory()).getFileHandle("mine.gguf", { create: true }), to = await handle.createWritable();
    await to.write(file);
    await to.close();
    globalThis.showOpenFilePicker = async () => [handle];
    pick.click();
});
const loaded = (model) => browser.until((wanted) => document.getElementById("model-name").textContent === wanted && !soloPage.busy, 60_000, model);

await test("a file of one's own: the next visit has it by itself, or after a click, or says that it cannot", async () => {
    await openFile();
    await loaded("mine.gguf");
    await browser.goto(`${server.url}/`);
    await ready();
    if (!(await browser.evaluate(() => "showOpenFilePicker" in globalThis))) {
        equal([await textOf("model-name"), await textOf("model-note-text")], ["the built-in model", "Your last visit had mine.gguf, which this browser does not open again by itself: open it once more."]);
        return;
    }
    equal(await textOf("model-name"), "mine.gguf", "by its handle");
    await browser.page.addInitScript(() => {
        FileSystemHandle.prototype.queryPermission = async () => "prompt";
        FileSystemHandle.prototype.requestPermission = async () => globalThis.permission ?? "denied";
    });
    await browser.goto(`${server.url}/`);
    await ready();
    equal([await textOf("model-name"), await textOf("model-note-text")], ["the built-in model", "Your last visit had mine.gguf."]);
    await click("model-again");
    await browser.until(() => /mine\.gguf may not be read/.test(document.getElementById("trouble-text").textContent));
    await browser.evaluate(() => (globalThis.permission = "granted"));
    await click("model-again");
    await loaded("mine.gguf");
    yes(await browser.evaluate(() => document.getElementById("model-note").hidden && document.getElementById("trouble").hidden), "that is said no more");
});

await test("a conversation belongs to its model: which one that was is said, and it can be had again if it is here", async () => {
    await browser.evaluate((url) => {
        document.getElementById("change-model").click();
        document.getElementById("url").value = url;
        document.getElementById("from-url").requestSubmit();
    }, `${server.url}/models/tale.gguf`);
    await loaded("tale.gguf");
    await click("clear");
    await say("Far away");
    await answered();
    yes(await browser.evaluate(() => document.getElementById("other-model").hidden), "it is this model's");
    await click("change-model");
    await click("use-builtin");
    await loaded("the built-in model");
    equal(await textOf("other-model-text"), "This conversation was held with tale.gguf; the built-in model would answer now.");
    await browser.until(() => !document.getElementById("use-other-model").hidden);
    await picture("other-model");
    await click("use-other-model");
    await loaded("tale.gguf");
    yes(await browser.evaluate(() => document.getElementById("other-model").hidden), "now it is");
    await browser.evaluate(async () => {
        for (const { key } of await soloPage.solo.models.list()) await soloPage.solo.models.delete(key);
    });
    await click("change-model");
    await click("use-builtin");
    await loaded("the built-in model");
    await new Promise((next) => setTimeout(next, 500));
    yes(await browser.evaluate(() => document.getElementById("use-other-model").hidden), "what is not here is not offered");
    equal(heard.filter((line) => line.startsWith("error:")), []);
});

await browser.close();
server.close();
done();
