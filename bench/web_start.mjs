// How soon the page answers: from opening it in a Chromium that has run for --after seconds (3), as a browser usually has when a page is
// opened, to the first text of the built-in model's first answer.
//
//     node bench/web_start.mjs [--page build/web] [-r 3] [--after 3] [--warm]
//
// Nothing is kept from earlier runs, kernels that the driver has compiled neither (--warm: those are, as on a second visit).
// A line for each time: milliseconds until a question can be asked (it is, at once), and until its first text is there.
import { open } from "../tests/web/browsers.mjs";
import { serve } from "../tests/web/server.mjs";

const args = process.argv.slice(2), value = (name, otherwise) => (args.includes(name) ? args[args.indexOf(name) + 1] : otherwise);
const page = value("--page", "build/web"), times = Number(value("-r", 3)), after = Number(value("--after", 3));
if (!args.includes("--warm")) process.env.MESA_SHADER_CACHE_DISABLE = "true";

/** In the page, from its beginning on. */
function watch() {
    const seen = (globalThis.seen = {});
    const look = setInterval(() => {
        const send = document.getElementById("send");
        if (!seen.ready && send && !send.disabled) {
            seen.ready = performance.now();
            document.getElementById("text").value = "Tell me about a king";
            document.getElementById("composer").requestSubmit();
        }
        if (!document.querySelector(".assistant .text")?.textContent) return;
        seen.text = performance.now();
        clearInterval(look);
    }, 5);
}

for (let i = 0; i < times; i++) {
    const server = await serve(page), browser = await open("chromium");
    await browser.page.addInitScript(watch);
    await new Promise((next) => setTimeout(next, 1000 * after));
    await browser.goto(`${server.url}/`);
    const { ready, text } = await browser.until(() => globalThis.seen?.text && globalThis.seen, 120_000);
    console.log(`a question can be asked after ${Math.round(ready)} ms, its first text is there after ${Math.round(text)} ms`);
    await browser.close();
    server.close();
}
process.exit(0);
