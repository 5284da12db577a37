// A visitor of the page in a real browser: what tests of the page do with it. Ends the process with a line where there is none.
import { mkdirSync } from "node:fs";
import { missing, open } from "./browsers.mjs";

const SCREENSHOTS = "build/screenshots";

export async function visit(name) {
    if (missing(name)) {
        console.log(`skip ${missing(name)}`);
        process.exit(0);
    }
    mkdirSync(SCREENSHOTS, { recursive: true });
    const browser = await open(name).catch((error) => {
        console.log(`not ok it is installed and does not start: ${error.message.split("\n")[0]}`);
        process.exit(0);
    });
    const heard = [];
    browser.onConsole((text) => heard.push(text));
    return {
        browser, heard,
        picture: (what) => browser.screenshot(`${SCREENSHOTS}/${name}-${what}.png`),
        click: (id) => browser.evaluate((at) => document.getElementById(at).click(), id),
        textOf: (id) => browser.evaluate((at) => document.getElementById(at).textContent, id),
        ready: () => browser.until(() => globalThis.soloPage && !document.getElementById("send").disabled && !soloPage.busy),
        lastAnswer: () => browser.evaluate(() => [...document.querySelectorAll(".assistant .text")].at(-1)?.textContent.trim() ?? ""),
        answered: () => browser.until(() => !soloPage.busy && document.querySelector(".assistant .facts")?.textContent),
        say: (text) => browser.evaluate((what) => {
            document.getElementById("text").value = what;
            document.getElementById("composer").requestSubmit();
        }, text),
        /** Settings, as they are kept then. */
        set: (values) => browser.evaluate((fields) => {
            for (const [field, value] of Object.entries(fields)) {
                const input = document.getElementById("settings").elements[field];
                input.value = value;
                input.dispatchEvent(new Event("input", { bubbles: true }));
            }
            return JSON.parse(localStorage.getItem("solo-settings"));
        }, values),
        /** Presses the button with this label. */
        press: (label, within = "body") => browser.evaluate(([text, place]) => [...document.querySelectorAll(`${place} button`)].find((b) => b.textContent === text).click(), [label, within]),
    };
}
