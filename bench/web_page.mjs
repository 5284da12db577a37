// The page as a person uses it, in Chromium: opened for the first time and asked at once, opened again and asked again, then Measure.
//
//     node bench/web_page.mjs -o FOLDER [--page build/web] [--limit SECONDS]
//
// Leaves FOLDER/page.dispatch.json and page.llm.json (the records that the page saves), page.visits.json (how long what took, what was
// said beside each answer) and two pictures, page-chat.png and page-measured.png. tests/web/browsers.mjs says which Chromium
// and driver are taken; drivers may know kernels from earlier runs.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { open } from "../tests/web/browsers.mjs";
import { serve } from "../tests/web/server.mjs";
import { recordText } from "../tools/record_layout.mjs";

const args = process.argv.slice(2), value = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
const folder = value("-o"), limit_ms = 1000 * Number(value("--limit", 200));
if (!folder) {
    console.error("usage: node bench/web_page.mjs -o FOLDER (the file itself says the rest)");
    process.exit(2);
}
mkdirSync(folder, { recursive: true });
const keep = (name, record) => writeFileSync(join(folder, name), recordText(record));

/** In the page, from its beginning on: asks as soon as one can, and notes when things are there, until the model is at its best. */
function watch() {
    const seen = (globalThis.seen = {});
    const $ = (id) => document.getElementById(id), facts = () => document.querySelector(".assistant .facts")?.textContent;
    const look = setInterval(() => {
        if (!$("send")) return;
        if (seen.ready_ms === undefined) {
            if ($("send").disabled) return;
            seen.ready_ms = performance.now();
            $("text").value = "Once upon a time";
            $("composer").requestSubmit();
        }
        if (document.querySelector(".assistant .text")?.textContent) seen.text_ms ??= performance.now();
        if (!facts()) return;
        seen.done_ms ??= performance.now();
        seen.first_answer ??= facts();
        if (/being made ready/.test($("model-facts").textContent)) return;
        seen.best_ms ??= performance.now();
        seen.model = $("model-facts").textContent;
        clearInterval(look);
    }, 2);
}

const server = await serve(value("--page", "build/web")), browser = await open("chromium");
browser.onConsole((text) => console.log(`    the page: ${text}`));
await browser.size(1100, 800);
await browser.page.addInitScript(watch);

const visits = [];
for (const which of ["first", "second"]) {
    await browser.goto(`${server.url}/`);
    const seen = await browser.until(() => globalThis.seen?.best_ms && globalThis.seen, limit_ms);
    await browser.evaluate(() => [...document.querySelectorAll(".under button")].find((b) => b.textContent === "Regenerate").click());
    await browser.until(() => !soloPage.busy && document.querySelector(".assistant .facts")?.textContent, limit_ms);
    seen.another_answer = await browser.evaluate(() => document.querySelector(".assistant .facts").textContent);
    visits.push({ visit: which, ...seen });
    if (which === "first") // what was said is not to be taken in again
        await browser.evaluate(() => document.getElementById("clear").click());
    const after = (ms) => `after ${Math.round(ms)} ms`;
    console.log(`${which} visit: a question ${after(seen.ready_ms)}, its first text ${after(seen.text_ms)}, all of it ${after(seen.done_ms)}, at its best ${after(seen.best_ms)}`);
    console.log(`    ${seen.first_answer}\n    then ${seen.another_answer}\n    ${seen.model}`);
}
keep("page.visits.json", visits);
await browser.screenshot(join(folder, "page-chat.png"));

await browser.evaluate(() => {
    globalThis.saved = {};
    URL.createObjectURL = (blob) => ((saved.latest = blob), "about:blank#");
    HTMLAnchorElement.prototype.click = () => {};
    location.hash = "#measure";
    document.getElementById("measure-start").click();
});
await browser.until(() => document.querySelector("[data-save]") || !document.getElementById("trouble").hidden, limit_ms);
const records = await browser.evaluate(async () => {
    const found = {};
    for (const button of document.querySelectorAll("[data-save]")) {
        button.click();
        found[button.dataset.save] = JSON.parse(await saved.latest.text());
    }
    return { found, trouble: document.getElementById("trouble").hidden ? null : document.getElementById("trouble-text").textContent, said: document.getElementById("measure-clock").textContent };
});
for (const [what, record] of Object.entries(records.found)) keep(`page.${what}.json`, record);
console.log(`measured: ${records.said}`);
for (const r of records.found.llm?.results ?? []) console.log(`    ${r.params.fuse.padEnd(6)} ${r.median.toFixed(1)} tokens a second [${r.ci95.map((x) => x.toFixed(1)).join(", ")}]`);
await browser.size(1100, 1900);
await browser.screenshot(join(folder, "page-measured.png"));
await browser.close();
server.close();
if (records.trouble) console.error(`web_page.mjs: ${records.trouble}`);
process.exit(records.trouble ? 1 : 0);
