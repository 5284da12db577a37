// The catalogue in a real browser, with a hub of its own. node catalogue.mjs chromium|firefox
import { statSync } from "node:fs";
import { done, equal, test, yes } from "./check.mjs";
import { serve } from "./server.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO_PAGE } = process.env, MODEL = "models/builtin.gguf", FILE = "tale-Q8_0.gguf";
const { browser, picture, click, textOf, ready, press } = await visit(name);
const hub = await serve(SOLO_PAGE, { models: { [`/ann/tale/resolve/main/${FILE}`]: MODEL }, open: true, isolated: false }), server = await serve(SOLO_PAGE);
server.other["/site.json"] = JSON.stringify({ hub: hub.url });
hub.other["/api/models"] = JSON.stringify([{ id: "ann/tale" }, { id: "../etc" }, { id: "<b>/x" }]);
hub.other["/api/models/ann/tale/tree/main"] = JSON.stringify([{ type: "file", path: FILE, size: statSync(MODEL).size }, { type: "file", path: "tale-F32.gguf", size: 40e9 }, { type: "file", path: "README.md", size: 5 }]);
hub.other["/api/models/ann/odd/tree/main"] = "<html>";
const look = (text) => browser.evaluate((what) => {
    document.getElementById("repository").value = what;
    document.getElementById("catalogue").requestSubmit();
}, text);
const found = (what) => browser.until((text) => document.getElementById("found").textContent.includes(text), 60_000, what);

await test("the catalogue: nothing is asked before the visitor does; a search, a repository, a file that fits, with the reason", async () => {
    await browser.goto(`${server.url}/`);
    await ready();
    await click("change-model");
    await browser.until(() => document.getElementById("catalogue").onsubmit !== null);
    equal(hub.requests, []);
    await look("a tale");
    await found("ann/tale");
    equal(await browser.evaluate(() => [...document.querySelectorAll("#found button")].map((b) => b.textContent)), ["ann/tale"], "what is no repository's name is left out");
    await press("ann/tale", "#found");
    await found("Q8_0 needs about");
    yes(/Of these it is the best for its size; Q8_0 needs about 504\.1 MB with its cache, and \d+\.00 GB are assumed/.test(await textOf("found")), await textOf("found"));
    await picture("catalogue");
    await browser.evaluate(() => {
        const [file] = document.querySelectorAll("#found select");
        file.value = "tale-F32.gguf";
        file.dispatchEvent(new Event("change"));
    });
    yes(/F32 needs about 42\.50 GB with its cache: more than/.test(await textOf("found")), await textOf("found"));
    await browser.evaluate((path) => (document.querySelector("#found select").value = path), FILE);
    await press("Load it", "#found");
    await browser.until((file) => document.getElementById("model-name").textContent === file, 60_000, FILE);
    await ready();
});

await test("the catalogue: what is not there, what is no list, and no network get a line", async () => {
    await click("change-model");
    await look(`${hub.url}/ann/nothing`);
    await found("has no such repository, or not for everyone.");
    await look("ann/odd");
    await found("sends no list.");
    hub.down = true;
    await look("ann/tale");
    await found("does not answer: is there a network?");
});

await browser.close();
hub.close();
server.close();
done();
