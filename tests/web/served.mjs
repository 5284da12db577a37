// The page at / of solo serve, in a real browser: the server's model answers. node served.mjs chromium|firefox
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { done, equal, test, yes } from "./check.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO, SOLO_PAGE, EXPECTED, PROMPT } = process.env;
const folder = mkdtempSync(join(tmpdir(), "solo-"));
let said = "";

/** solo serve, and its address; null where it cannot be. */
async function start(...options) {
    const server = spawn(SOLO, ["serve", "--port", "0", "-c", "256", "--page", SOLO_PAGE, ...options], { stdio: ["ignore", "pipe", "pipe"] });
    server.stderr.on("data", (text) => (said += text));
    const url = await Promise.race([new Promise((heard) => server.stdout.once("data", (text) => heard(String(text).trim()))), new Promise((ended) => server.once("exit", () => ended(null)))]);
    return url && { url: url.replace(/\/$/, ""), stop: () => new Promise((ended) => (server.once("exit", ended), server.kill())) };
}

writeFileSync(join(folder, "keys"), "a-key\n");
const server = await start();
if (!server) {
    console.log(/libmicrohttpd/.test(said) ? "skip solo serve: libmicrohttpd is not here" : `not ok solo serve: ${said.split("\n")[0]}`);
    process.exit(0);
}
const { browser, picture, textOf, ready, lastAnswer, answered, say, set, press } = await visit(name);

await test("solo serve: the server's model answers, with its own tokens, and no GPU of this machine is opened", async () => {
    await browser.goto(`${server.url}/`);
    await ready();
    equal([await textOf("model-name"), await browser.evaluate(() => soloPage.solo)], ["builtin", null]);
    yes(/on the server that this page is from · context 256 tokens/.test(await textOf("model-facts")), await textOf("model-facts"));
    await set({ temperature: 0, repeat_penalty: 1, max_tokens: 16 });
    await say(PROMPT);
    yes(/tokens\/s.*16 tokens/.test(await answered()), await answered());
    equal(`${PROMPT} ${await lastAnswer()}`, EXPECTED);
    await picture("served");
    await set({ max_tokens: 200 });
    await say("and so");
    await browser.until(() => document.querySelectorAll(".assistant").length === 2 && [...document.querySelectorAll(".assistant .text")].at(-1).textContent.length > 5);
    await browser.evaluate(() => document.getElementById("stop").click());
    await browser.until(() => !soloPage.busy);
    yes((await lastAnswer()).length > 5 && !(await browser.evaluate(() => !document.getElementById("trouble").hidden)), "a stop is no trouble");
});

await test("solo serve: a model in the browser instead, and the server's again", async () => {
    await browser.evaluate(() => document.getElementById("use-builtin").click());
    await browser.until(() => document.getElementById("model-name").textContent === "the built-in model");
    await ready();
    yes(await browser.evaluate(() => soloPage.solo.model !== null && soloPage.remote === null), "it is here");
    await browser.evaluate(() => document.getElementById("use-server").click());
    await browser.until(() => document.getElementById("model-name").textContent === "builtin");
});

await test("solo serve: a text too long for the server's context is a choice", async () => {
    await set({ max_tokens: 5 });
    await say("word ".repeat(400));
    await browser.until(() => !soloPage.busy && document.getElementById("notices").textContent.includes("The context of 256 tokens is full"));
    yes(await browser.evaluate(() => document.getElementById("trouble").hidden), "it is no error");
    await press("New conversation");
});
await server.stop();

await test("solo serve: a server with keys asks for one", async () => {
    const closed = await start("--api-key-file", join(folder, "keys"));
    await browser.goto(`${closed.url}/`);
    await browser.until(() => /no key that this server knows/.test(document.getElementById("notices").textContent));
    // both at once: a page that is not asked by the browser itself, whatever comes between
    await browser.evaluate(() => {
        globalThis.prompt = () => "a-key";
        [...document.querySelectorAll("button")].find((b) => b.textContent === "Enter a key").click();
    });
    await browser.until(() => document.getElementById("model-name").textContent === "builtin");
    // a key that is given while the browser's own model is being loaded counts more than that, though it was there first
    await browser.evaluate(() => sessionStorage.clear());
    await browser.goto(`${closed.url}/`);
    await browser.until(() => !document.getElementById("loading").hidden);
    await browser.evaluate(() => {
        globalThis.prompt = () => "a-key";
        [...document.querySelectorAll("button")].find((b) => b.textContent === "Enter a key").click();
    });
    await browser.until(() => !soloPage.busy && soloPage.solo?.model);
    equal([await textOf("model-name"), await browser.evaluate(() => soloPage.remote !== null)], ["builtin", true]);
    await closed.stop();
});

await browser.close();
rmSync(folder, { recursive: true });
done();
