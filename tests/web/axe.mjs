// The page as axe sees it, in a real browser: nothing that keeps people out. node axe.mjs chromium|firefox
import { existsSync, readFileSync } from "node:fs";
import { done, equal, test } from "./check.mjs";
import { serve } from "./server.mjs";
import { visit } from "./visitor.mjs";

const [, , name] = process.argv, { SOLO_PAGE } = process.env, AXE = "node_modules/axe-core/axe.min.js";
if (!existsSync(AXE)) {
    console.log("skip axe: the package axe-core is not installed");
    process.exit(0);
}
const { browser, click, ready, answered, say, set } = await visit(name);
const server = await serve(SOLO_PAGE);
server.other["/axe.js"] = readFileSync(AXE, "utf8"); // from the page's own origin: its policy lets no other script run

/** What is wrong, as "rule: where". */
async function faults() {
    return browser.evaluate(async () => {
        if (!globalThis.axe) await new Promise((loaded) => {
            const script = document.createElement("script");
            script.onload = loaded;
            script.src = "axe.js";
            document.head.append(script);
        });
        const { violations } = await axe.run(document, { resultTypes: ["violations"] });
        return violations.filter(({ impact }) => ["serious", "critical", "moderate"].includes(impact)).map(({ id, nodes }) => `${id}: ${nodes.map(({ target, any }) => `${target.join(" ")} ${any[0]?.message ?? ""}`).join("; ")}`);
    });
}

const SIZES = [[1100, 800], [390, 800]];
for (const dark of browser.dark ? [false, true] : [true])
    await test(`axe finds nothing: ${dark ? "dark" : "light"}`, async () => {
        await browser.dark?.(dark);
        await browser.goto(`${server.url}/`);
        await ready();
        await set({ max_tokens: 5 });
        await say("Once");
        await answered();
        await click("open-settings");
        for (const [width, height] of SIZES) {
            await browser.size(width, height);
            equal(await faults(), [], `chat, ${width} px`);
        }
        for (const [open, dialog] of [["change-model", "models"], ["open-conversations", "conversations"]]) {
            await click(open);
            await browser.until((id) => document.getElementById(id).open, undefined, dialog);
            equal(await faults(), [], dialog);
            await browser.evaluate((id) => document.getElementById(id).close(), dialog);
        }
        await browser.evaluate(async () => {
            const { say } = await import("./notices.js");
            say("test", "A line.", { "Do something": () => {} });
            soloPage.trouble(new Error("Something went wrong"), () => {});
        });
        equal(await faults(), [], "lines and trouble");
        for (const view of ["measure", "how"]) {
            await browser.evaluate((hash) => (location.hash = hash), `#${view}`);
            await browser.until((id) => !document.getElementById(id).hidden && (id !== "how" || document.querySelector("#how h2") !== null), undefined, view);
            equal(await faults(), [], view);
        }
    });

await browser.close();
server.close();
done();
