// What the visitor of bench/soak_page.mjs does, and what is done to the page: each of ACTS leaves it with a model, and ready.
import { readFileSync } from "node:fs";
import { visit } from "../tests/web/visitor.mjs";
import { amiss, below, far, hostile, oneOf, options, pause, PROMPTS, same, server, startServer, texts, url, whole, writeHostile } from "./soak_page_site.mjs";

export const BUILTIN = "the built-in model";
const REMOTE = "builtin", LIMIT_MS = 200_000;
const GREEDY = { temperature: 0, top_k: 40, top_p: 0.95, min_p: 0, repeat_penalty: 1, seed: "", max_tokens: 12, system: "" };
const SAMPLED = { ...GREEDY, temperature: 0.8, repeat_penalty: 1.1, seed: 7 };

process.env.SOLO_CHROMIUM_FLAGS = `${process.env.SOLO_CHROMIUM_FLAGS ?? ""} --js-flags=--expose-gc --enable-blink-features=ForceEagerMeasureMemory`;
export const visitor = await visit(options.browser);
const { browser, click, textOf, ready, say, set, press } = visitor;
const { page } = browser, evaluate = browser.evaluate, until = (act, argument) => browser.until(act, LIMIT_MS, argument);
page.on("dialog", (dialog) => dialog.accept(dialog.type() === "prompt" ? "Another name" : undefined).catch(() => {}));
page.on("crash", () => amiss("the page's process ended"));

const squashed = (text) => text.replace(/\s+/g, ""); // paragraphs have nothing between them
const free = () => until(() => !soloPage.busy && !document.getElementById("send").disabled);
export const named = (name) => until((wanted) => document.getElementById("model-name").textContent === wanted && !soloPage.busy, name);
const noticed = (text) => until((what) => document.getElementById("notices").textContent.includes(what), text);
/** The line that says what went wrong; '' if it went well, which is when the model is another one. */
const troubled = () => until(() => !soloPage.busy && !document.getElementById("trouble").hidden && document.getElementById("trouble-text").textContent);
async function trouble(pattern) {
    const said = await troubled();
    if (!pattern.test(said)) throw new Error(`not ${pattern}: ${said}`);
    await click("trouble-close");
}
/** The last answer as it is kept, and as it is shown. */
const lastAnswer = () => evaluate(() => {
    const [{ id }] = JSON.parse(localStorage.getItem("solo-conversations")), kept = JSON.parse(localStorage.getItem(`solo-conversation-${id}`)).at(-1);
    return { role: kept.role, kept: kept.content, shown: [...document.querySelectorAll(".assistant .text")].at(-1)?.textContent ?? "" };
});
const begun = () => until(() => !soloPage.busy || ([...document.querySelectorAll(".assistant .text")].at(-1)?.textContent.length ?? 0) > 10);
const answered = () => until(() => !soloPage.busy && [...document.querySelectorAll(".facts")].at(-1)?.textContent);

export let asked = 0;
async function checkAnswer(wanted, what) {
    const { role, kept, shown } = await lastAnswer();
    same(role, "assistant", what);
    same(squashed(shown), squashed(kept), `${what}, as it is shown`);
    asked++;
    if (wanted !== null) same(kept, wanted, what);
    return kept;
}
/** The first tokens of what the native program says; how long that is shows the first answer. */
async function ask(prompt = oneOf(PROMPTS)) {
    await click("clear");
    await set(GREEDY);
    await say(prompt);
    await answered();
    const got = await checkAnswer(null, prompt);
    if (!got.trim() || !texts[prompt].trimStart().startsWith(got.trimStart())) throw new Error(`"${prompt}" got "${got}", not the beginning of "${texts[prompt]}"`);
    same(got, (texts[`short ${prompt}`] ??= got), prompt);
}
export const builtinAgain = async () => {
    if ((await textOf("model-name")) === BUILTIN) return;
    await click("use-builtin");
    await named(BUILTIN);
};
const serverAgain = async () => {
    await click("use-server");
    await named(REMOTE);
};
const load = (path) => evaluate((address) => {
    document.getElementById("change-model").click();
    document.getElementById("url").value = address;
    document.getElementById("from-url").requestSubmit();
}, `${far.url}/models/${path}`);
const drop = (name, bytes) => evaluate(([called, base64]) => {
    const files = new DataTransfer();
    files.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], called));
    dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
}, [name, Buffer.from(bytes).toString("base64")]);
/** Models that are kept go, as those of visitors who want their room back: with the dialog's buttons. */
async function forgetModels() {
    await evaluate(() => document.getElementById("kept").replaceChildren()); // what was shown the last time
    await click("change-model");
    for (let before; (before = await until(() => document.getElementById("kept").children.length && (document.querySelectorAll("#kept button").length || -1))) > 0; ) {
        await press("Delete", "#kept");
        await until((was) => document.querySelectorAll("#kept button").length < was, before);
    }
    await evaluate(() => document.getElementById("models").close());
}
/** What is shown moves only when the browser has said that the address did. */
async function view(name) {
    await evaluate((wanted) => (location.hash = `#${wanted}`), name);
    await until((wanted) => !document.getElementById(wanted).hidden, name);
    await pause(100);
}
const change = (field, value) => evaluate(([name, to]) => {
    const input = document.getElementById("settings").elements[name];
    input.value = to;
    for (const event of ["input", "change"]) input.dispatchEvent(new Event(event, { bubbles: true }));
}, [field, value]);

/** `takes`: the GPU, from the first one, which then has it again. */
async function secondTab(takes) {
    await builtinAgain();
    const tab = await browser.another(), tabFree = () => tab.until(() => globalThis.soloPage && !soloPage.busy && !document.getElementById("send").disabled, LIMIT_MS);
    await tab.goto(url);
    await tabFree(); // with the server's model
    if (below(2)) {
        await tab.goto(url);
        await tabFree();
    }
    if (takes) {
        await tab.evaluate(() => document.getElementById("use-builtin").click());
        await tab.until(() => document.getElementById("notices").textContent.includes("Another tab with this page uses the GPU"), LIMIT_MS);
        await tab.evaluate(() => [...document.querySelectorAll("#notices button")].find((b) => b.textContent === "Use it in this tab").click());
        await noticed("Another tab with this page uses the GPU");
        same(await textOf("model-name"), "In another tab", "the first tab");
        await tab.until(() => soloPage.solo && !soloPage.busy, LIMIT_MS);
    }
    await tab.close();
    if (takes) {
        await press("Use it in this tab", "#notices");
        await named(BUILTIN);
    }
    await ask();
}

/** These end the worker, or the page with it. */
export const RELOAD = "the page is loaded anew", TAKEN = "a second tab that takes the GPU", CANCELLED = "a measurement that is cancelled";

export const ACTS = {
    // ---- what is no fault
    "an answer": () => ask(),
    "three answers": async () => {
        for (let i = 0; i < 3; i++) await ask();
    },
    "answers of the server": async () => {
        await serverAgain();
        await ask();
        await ask();
    },
    "sampled, with a seed": async () => {
        const prompt = oneOf(PROMPTS);
        await click("clear");
        await set(SAMPLED);
        await say(prompt);
        await answered();
        const key = `sampled ${await textOf("model-name")} ${prompt}`;
        texts[key] = await checkAnswer(texts[key] ?? null, key);
    },
    "a second message, and its answer once more": async () => {
        await ask(PROMPTS[0]);
        await say(" and then");
        await until(() => document.querySelectorAll(".assistant .facts").length === 2 && !soloPage.busy);
        const key = `second ${await textOf("model-name")}`, got = await checkAnswer(texts[key] ?? null, key);
        texts[key] = got;
        await press("Regenerate", "#messages");
        await answered();
        await checkAnswer(got, `${key} again`);
    },
    "Stop in the middle of an answer": async () => {
        const prompt = oneOf(PROMPTS);
        await click("clear");
        await set({ ...GREEDY, max_tokens: 110 });
        await say(prompt);
        await begun();
        await click("stop");
        await free();
        const got = await checkAnswer(null, prompt);
        if (!texts[prompt].trimStart().startsWith(got.trimStart())) throw new Error(`"${prompt}", stopped, got "${got}"`);
        await ask();
    },
    "Stop at once, five times": async () => {
        await click("clear");
        await set({ ...GREEDY, max_tokens: 110 });
        for (let i = 0; i < 5; i++) {
            await say(oneOf(PROMPTS));
            await pause(below(60));
            await click("stop");
            await free();
        }
        await ask();
    },
    "an edit": async () => {
        await ask();
        await press("Edit", "#messages");
        const [prompt, other] = [oneOf(PROMPTS), below(2)];
        if (other) return press("Leave it as it was", "#notices");
        await say(prompt);
        await answered();
        await checkAnswer(texts[`short ${prompt}`] ?? null, `${prompt}, edited`);
    },
    "conversations: renamed, exported, imported, deleted": async () => {
        await ask();
        await click("open-conversations");
        await press("Rename", "#conversation-list");
        const count = () => evaluate(() => document.querySelectorAll("#conversation-list li button.title").length), before = await count();
        if (options.browser === "chromium") {
            const [download] = await Promise.all([page.waitForEvent("download"), click("export")]);
            const text = readFileSync(await download.path(), "utf8");
            await download.delete();
            same(JSON.parse(text).conversations.length, before, "conversations in the file");
            await page.setInputFiles("#import", { name: "all.json", mimeType: "application/json", buffer: Buffer.from(text) });
            await until((wanted) => document.querySelectorAll("#conversation-list li button.title").length === wanted, 2 * before);
            await page.setInputFiles("#import", { name: "cut.json", mimeType: "application/json", buffer: Buffer.from(text.slice(0, text.length / 2)) });
            await trouble(/cut\.json is no JSON/);
            await click("open-conversations");
        }
        for (let left; (left = await count()) > 0; await until((was) => document.querySelectorAll("#conversation-list li button.title").length < was, left)) await press("Delete", "#conversation-list");
        same(await evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("solo-conversation-")).length), 0, "conversations that are kept");
        await evaluate(() => document.getElementById("conversations").close());
    },
    "other settings": async () => {
        await builtinAgain();
        for (const [field, value] of [["level", oneOf(["none", "token", "loop", "ops"])], ["context", oneOf([64, 200, 512])]]) {
            await change(field, value);
            await free();
            await ask();
        }
        for (const field of ["level", "context"]) {
            await change(field, "");
            await free();
        }
        await ask();
    },
    "a context that is full": async () => {
        await builtinAgain();
        await change("context", 64);
        await free();
        await click("clear");
        await set({ ...GREEDY, max_tokens: 100 });
        await say(PROMPTS[0]);
        await noticed("The context of 64 tokens is full");
        await press(oneOf(["Leave out the oldest messages", "New conversation"]), "#notices");
        await pause(500);
        await free();
        await evaluate(() => (document.getElementById("text").value = ""));
        await change("context", "");
        await free();
        await ask();
    },
    "the views, and the dialogs": async () => {
        for (const name of ["measure", "how", "chat"]) await view(name);
        for (const [id, dialog] of [["change-model", "models"], ["open-conversations", "conversations"]]) {
            await click(id);
            await pause(200);
            await evaluate((it) => document.getElementById(it).close(), dialog);
        }
        for (const id of ["open-settings", "open-settings"]) await click(id);
    },
    "points that move": async () => {
        await view("measure");
        await click("live-start");
        await until(() => /pictures/.test(document.getElementById("live-one-facts").textContent) || !document.getElementById("trouble").hidden);
        await pause(1000);
        await click("live-stop");
        await until(() => !document.getElementById("live-start").hidden && !soloPage.busy);
        await view("chat");
    },
    "a program of PyTorch": async () => {
        await drop("convnet.pt2", readFileSync("tests/data/torch/convnet.pt2"));
        await until(() => document.getElementById("program").open || !document.getElementById("trouble").hidden);
        await press("Run", "#program");
        const said = await until(() => document.querySelector("#program [role=status]").textContent);
        if (!/took/.test(said)) throw new Error(said);
        await evaluate(() => document.getElementById("program").close());
    },
    "a model from a URL whose connection breaks": async () => {
        await load(oneOf(["tale.gguf?break=1500000", "tale.gguf?fail=2", "tale.gguf?slow=5"]));
        await named("tale.gguf");
        await ask();
        await builtinAgain();
        await forgetModels();
    },
    "a model from disk": async () => {
        await drop("mine.gguf", whole);
        await named("mine.gguf");
        await ask();
    },
    "a second tab": () => secondTab(false),
    [TAKEN]: () => secondTab(true),
    // ---- faults
    "a model that is cut, hostile, or none": async () => {
        await builtinAgain();
        writeHostile();
        await load(oneOf(["half.gguf", "hostile.gguf", "page.gguf", "tale.gguf?html", "none.gguf"]));
        await trouble(/half|hostile|page|tale|none/);
        await free();
        await ask();
        await forgetModels();
    },
    "a file that is cut, hostile, or none": async () => {
        await builtinAgain();
        writeHostile();
        const [name, bytes] = oneOf([["half.gguf", whole.subarray(0, whole.length / 2)], ["hostile.gguf", hostile], ["letter.gguf", "not a model"], ["empty.gguf", ""]]);
        await drop(name, bytes);
        await trouble(/half|hostile|letter|empty/);
        await free();
        await ask();
    },
    "a download whose server goes away": async () => {
        await builtinAgain();
        far.requests.length = 0;
        await load("tale.gguf?break=1000000");
        while (!far.requests.length) await pause(10);
        far.down = true;
        try {
            await trouble(/tale\.gguf: no answer/);
        } finally {
            far.down = false;
        }
        await ask();
        if (below(2)) { // it goes on where it was
            await load("tale.gguf?break=1000000");
            await named("tale.gguf");
            await ask();
            await builtinAgain();
        }
        await forgetModels();
    },
    "a download that is cancelled": async () => {
        await builtinAgain();
        await load("tale.gguf?slow=100");
        await until(() => / of 3\.9 MB/.test(document.getElementById("loading-text").textContent));
        await click("loading-cancel");
        await free();
        await ask();
        await forgetModels();
    },
    "the device is lost": async () => {
        await builtinAgain();
        await ask();
        await click("clear");
        await set({ ...GREEDY, max_tokens: 110 });
        const during = options.browser === "chromium" && below(2) === 1;
        if (!during) await evaluate(() => soloPage.solo.loseDevice());
        await say(PROMPTS[0]);
        if (during) {
            await begun();
            await page.workers()[0].evaluate(() => soakLose());
        }
        const said = await troubled();
        if (!/The GPU went away/.test(said)) throw new Error(said);
        await click("trouble-again");
        await until(() => !soloPage.busy && soloPage.solo?.model && document.getElementById("trouble").hidden);
        await press(during ? "Regenerate" : "Answer", "#messages"); // of an answer that has begun some is there
        await answered();
        const got = await checkAnswer(null, PROMPTS[0]);
        if (!texts[PROMPTS[0]].trimStart().startsWith(got.trim())) throw new Error(`after a loss: "${got}"`);
        await ask();
    },
    [CANCELLED]: async () => {
        await builtinAgain();
        await view("measure");
        await click("measure-start");
        await until(() => document.getElementById("measuring-bar").value > 0);
        await click("measure-cancel");
        await named(BUILTIN);
        await view("chat");
        await ask();
    },
    "the server stops for a second": async () => {
        await serverAgain();
        await click("clear");
        await set(GREEDY);
        server.kill("SIGSTOP");
        await say(PROMPTS[0]);
        await pause(1000);
        server.kill("SIGCONT");
        await answered();
        await checkAnswer(texts[`short ${PROMPTS[0]}`] ?? null, PROMPTS[0]);
    },
    "the server is killed in the middle of an answer": async () => {
        await serverAgain();
        await click("clear");
        await set({ ...GREEDY, max_tokens: 300 });
        const before = server;
        before.kill("SIGSTOP"); // so that it is in the middle, however fast it is
        await say(PROMPTS[2]);
        await pause(200);
        before.kill("SIGKILL");
        await before.ended;
        await trouble(/./);
        await builtinAgain();
        await ask();
        await startServer();
        await serverAgain();
        await ask();
    },
    "no network": async () => {
        await builtinAgain();
        if (!browser.offline) return;
        await browser.offline(true);
        await noticed("There is no network");
        await ask();
        await browser.offline(false);
        await until(() => document.getElementById("notices").textContent === "");
    },
    [RELOAD]: async () => {
        await ask();
        const before = await lastAnswer();
        await page.reload();
        await ready();
        same((await lastAnswer()).kept, before.kept, "after a reload");
        await ask();
    },
};
