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

const args = process.argv.slice(2), value = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
const folder = value("-o"), limit_ms = 1000 * Number(value("--limit", 200));
if (!folder) {
    console.error("usage: node bench/web_page.mjs -o FOLDER (the file itself says the rest)");
    process.exit(2);
}
mkdirSync(folder, { recursive: true });
const keep = (name, record) => writeFileSync(join(folder, name), `${JSON.stringify(record, null, 1)}\n`);

/** In the page, from its beginning on: asks as soon as one can, and notes when. */
function watch() {
    const seen = (globalThis.seen = {});
    const look = setInterval(() => {
        const send = document.getElementById("send");
        if (seen.ready_ms === undefined && send && !send.disabled) {
            seen.ready_ms = performance.now();
            document.getElementById("text").value = "Once upon a time";
            document.getElementById("composer").requestSubmit();
        }
        if (document.querySelector(".assistant .text")?.textContent) seen.text_ms ??= performance.now();
        seen.facts = document.querySelector(".assistant .facts")?.textContent;
        if (!seen.facts) return;
        seen.done_ms = performance.now();
        seen.model = document.getElementById("model-facts").textContent;
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
    const seen = await browser.until(() => globalThis.seen?.done_ms && globalThis.seen, limit_ms);
    visits.push({ visit: which, ...seen });
    if (which === "first") // what was said is not to be taken in again
        await browser.evaluate(() => document.getElementById("clear").click());
    console.log(`${which} visit: a question after ${Math.round(seen.ready_ms)} ms, its first text after ${Math.round(seen.text_ms)} ms, all of it after ${Math.round(seen.done_ms)} ms\n    ${seen.facts}\n    ${seen.model}`);
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
const height = await browser.evaluate(() => document.documentElement.scrollHeight);
await browser.size(1100, Math.min(height, 2400));
await browser.screenshot(join(folder, "page-measured.png"));
await Promise.race([browser.close(), new Promise((next) => setTimeout(next, 5000))]);
server.close();
if (records.trouble) console.error(`web_page.mjs: ${records.trouble}`);
process.exit(records.trouble ? 1 : 0);
