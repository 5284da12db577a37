// Visits beside and after each other, in a real browser: a second tab, a newer version of the page, no network.
// node visits.mjs chromium|firefox
import { readFileSync } from "node:fs";
import { done, equal, test, yes } from "./check.mjs";
import { serve } from "./server.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO_PAGE } = process.env;
const { browser, picture, textOf, ready, answered, say, set, press } = await visit(name);
const server = await serve(SOLO_PAGE);
const noticed = (what) => browser.until((text) => document.getElementById("notices").textContent.includes(text), 60_000, what);

await test("a second tab does not take the GPU, says so, and takes it when told to", async () => {
    await browser.goto(`${server.url}/`);
    await ready();
    const tab = await browser.another();
    await tab.goto(`${server.url}/`);
    await tab.until(() => document.getElementById("notices").textContent.includes("Another tab with this page uses the GPU"));
    equal(await tab.evaluate(() => [document.getElementById("model-name").textContent, document.getElementById("send").disabled, soloPage.solo]), ["In another tab", true, null]);
    await tab.evaluate(() => [...document.querySelectorAll("#notices button")].find((b) => b.textContent === "Use it in this tab").click());
    await tab.until(() => !document.getElementById("send").disabled && !soloPage.busy);
    await noticed("Another tab with this page uses the GPU");
    equal([await textOf("model-name"), await browser.evaluate(() => soloPage.solo)], ["In another tab", null], "the first has let go of it");
    yes(await tab.evaluate(() => document.getElementById("notices").textContent === ""), "the second has it");
    await tab.close();
    await press("Use it in this tab");
    await ready();
    equal(await textOf("notices"), "");
});

await test("a newer version is offered, and used when the visitor says so", async () => {
    await browser.evaluate(async () => (await navigator.serviceWorker.ready).active.state);
    await browser.goto(`${server.url}/`);
    await ready();
    yes(await browser.evaluate(() => navigator.serviceWorker.controller !== null), "the page is kept by now");
    server.other["/sw.js"] = readFileSync(`${SOLO_PAGE}/sw.js`, "utf8").replace(/solo-page-[0-9a-f]+/, "solo-page-newer");
    server.other["/index.html"] = server.other["/"] = readFileSync(`${SOLO_PAGE}/index.html`, "utf8").replace("<title>Solo</title>", "<title>Solo, newer</title>");
    await browser.goto(`${server.url}/`);
    await ready();
    await noticed("A newer version of this page is here");
    equal(await browser.evaluate(() => document.title), "Solo", "the version that was here goes on");
    await picture("update");
    await press("Use it");
    await browser.until(() => document.title === "Solo, newer", 60_000);
    await ready();
    equal([await textOf("notices"), await browser.evaluate(async () => (await caches.keys()).filter((key) => key.startsWith("solo-page-")))], ["", ["solo-page-newer"]], "the earlier one is gone");
});

await test("without a network the page opens, says so, and answers", async () => {
    server.down = true;
    if (browser.offline) await browser.offline(true);
    await browser.goto(`${server.url}/`);
    await ready();
    yes(await browser.evaluate(() => crossOriginIsolated), "still isolated");
    if (browser.offline) await noticed("There is no network. This page works without it");
    await set({ max_tokens: 5 });
    await say("Far away");
    await answered();
    await browser.until(() => !document.getElementById("works-offline").hidden);
    if (browser.offline) await browser.offline(false);
    await browser.until(() => document.getElementById("notices").textContent === "");
});

await browser.close();
server.close();
done();
