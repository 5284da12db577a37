// The package for npm as its users have it. APP: a folder with node_modules/solo-gpu; EXPECTED, PROMPT, TOKENS as for
// hosts.mjs; BUNDLERS: a folder with vite, esbuild, typescript and react in it, or nothing.
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { missing, open } from "./browsers.mjs";
import { done, equal, test, yes } from "./check.mjs";
import { serve } from "./server.mjs";

const { APP, BUNDLERS, EXPECTED, PROMPT, TOKENS } = process.env, PACKAGE = join(APP, "node_modules", "solo-gpu");
const request = { prompt: PROMPT, max_tokens: Number(TOKENS), temperature: 0, repeat_penalty: 1 };
/** A module that runs the model from `from` and puts the text, or the error, into a variable of the page. */
const program = (from, options = {}) => `import { Solo } from ${JSON.stringify(from)};
try {
    const solo = await Solo.load({ ...${JSON.stringify({ context: 64, level: "ops", ...options })}, ...globalThis.more });
    const made = await solo.completions.create(${JSON.stringify(request)});
    const { scores } = await solo.simulate("cartpole", { population: 4, steps: 5 });
    await solo.close();
    globalThis.said = made.choices[0].text + (scores.length === 4 ? "" : "?");
} catch (error) {
    globalThis.said = "error: " + error.message;
}`;
const html = (script) => `<!doctype html><meta charset="utf-8"><script type="module" src="${script}"></script>`;
const write = (path, text) => (mkdirSync(dirname(join(APP, path)), { recursive: true }), writeFileSync(join(APP, path), text));
const said = (browser) => browser.until(() => globalThis.said);

await test("it is complete, and has nothing of the page", () => {
    const files = readdirSync(PACKAGE), { exports: entries, files: named } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8"));
    equal(files.sort(), [...named, "LICENSE", "README.md", "package.json"].sort());
    for (const entry of Object.values(entries)) for (const path of typeof entry === "string" ? [] : Object.values(entry)) yes(existsSync(join(PACKAGE, path)), path);
    for (const name of files.filter((file) => /\.(js|ts)$/.test(file)))
        for (const [, path] of readFileSync(join(PACKAGE, name), "utf8").matchAll(/(?:from|import|URL\(|import\()\s*"(\.\/[^"]+)"/g)) yes(existsSync(join(PACKAGE, path)), `${name} needs ${path}`);
});

await test("Node, by its name, with usage where it is asked for", () => {
    write("node.mjs", `import { create, globals } from ${JSON.stringify(resolve("node_modules/webgpu/index.js"))};
Object.assign(globalThis, globals);
globalThis.more = { gpu: create([]) };
${program("solo-gpu").replace("await solo.close();", `
    const usage = async (stream_options) => {
        const chunks = [];
        for await (const chunk of await solo.completions.create({ prompt: "Once", max_tokens: 2, stream: true, stream_options })) chunks.push([chunk.choices.length, Boolean(chunk.usage)].join());
        return chunks.slice(-2);
    };
    globalThis.usages = [await usage(), await usage({ include_usage: true }), await usage({ include_usage: false })];
    await solo.close();`)}
console.log(JSON.stringify([said, globalThis.usages]));
process.exit(0);`);
    if (!existsSync("node_modules/webgpu/package.json")) return;
    const [text, usages] = JSON.parse(execFileSync("node", ["node.mjs"], { cwd: APP, encoding: "utf8" }));
    equal(PROMPT + text, EXPECTED);
    equal(usages, [["1,false", "1,true"], ["1,false", "0,true"], ["1,false", "1,false"]]);
});

if (BUNDLERS) {
    symlinkSync(resolve(BUNDLERS), join(APP, "node_modules", "tools"));
    for (const name of readdirSync(BUNDLERS).filter((file) => !/^\./.test(file))) symlinkSync(resolve(BUNDLERS, name), join(APP, "node_modules", name));
    const run = (name, ...args) => execFileSync("node", [resolve(BUNDLERS, name), ...args], { cwd: APP, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

    await test("its types", () => {
        cpSync("tests/npm/types.ts", join(APP, "types.mts"));
        try {
            run("typescript/bin/tsc", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "types.mts");
        } catch (error) {
            throw new Error(error.stdout);
        }
    });
    await test("vite builds a page, and React's example", () => {
        write("vite/index.html", html("./main.js"));
        write("vite/main.js", program("solo-gpu"));
        run("vite/bin/vite.js", "build", "vite", "--base", "./", "--logLevel", "warn");
        cpSync("examples/react", join(APP, "react"), { recursive: true });
        run("vite/bin/vite.js", "build", "react", "--base", "./", "--logLevel", "warn");
    });
    await test("esbuild bundles a page", () => {
        write("esbuild/index.html", html("./bundle.js"));
        write("esbuild/main.js", program("solo-gpu", { base: "./solo-gpu/" }));
        run("esbuild/bin/esbuild", "esbuild/main.js", "--bundle", "--format=esm", "--outfile=esbuild/bundle.js", "--log-level=error");
        cpSync(PACKAGE, join(APP, "esbuild/solo-gpu"), { recursive: true });
    });
}

const here = await serve(APP), cdn = await serve(join(APP, "node_modules"), { open: true, isolated: false });
write("far.html", html("./far.mjs"));
write("far.mjs", program(`${cdn.url}/solo-gpu/solo.js`));
write("sw.html", html("./sw-page.mjs"));
write("sw-page.mjs", `const ready = await navigator.serviceWorker.register("./sw.mjs", { type: "module" });
navigator.serviceWorker.onmessage = ({ data }) => (globalThis.said = data);
const worker = ready.installing ?? ready.waiting ?? ready.active;
worker.postMessage("begin");`);
write("sw.mjs", `import { Solo } from "./node_modules/solo-gpu/in-place.js";
onmessage = ({ source, waitUntil }) => void (async () => {
    try {
        const solo = await Solo.load({ level: "ops", context: 64 });
        const made = await solo.completions.create(${JSON.stringify(request)});
        source.postMessage(made.choices[0].text);
    } catch (error) {
        source.postMessage("error: " + error.message);
    }
})();`);

for (const name of ["chromium", "firefox"]) {
    if (missing(name)) {
        console.log(`skip ${missing(name)}`);
        continue;
    }
    const browser = await open(name), heard = [];
    browser.onConsole((text) => heard.push(text));
    const pageSays = async (path) => {
        await browser.goto(`${here.url}/${path}`);
        equal(PROMPT + (await said(browser)), EXPECTED, heard.join("; "));
    };
    await test(`from another origin, in ${name}`, () => pageSays("far.html"));
    if (BUNDLERS) {
        await test(`what vite made, in ${name}`, () => pageSays("vite/dist/index.html"));
        await test(`what esbuild made, in ${name}`, () => pageSays("esbuild/index.html"));
        await test(`React's example, in ${name}`, async () => {
            await browser.goto(`${here.url}/react/dist/index.html`);
            await browser.until(() => document.querySelector("button:not([disabled])") !== null);
            await browser.evaluate(() => document.querySelector("form").requestSubmit());
            await browser.until(() => document.querySelector("output").textContent.length > 20);
            await browser.evaluate(() => document.querySelector("button").click());
            await browser.until(() => document.querySelector("output").dataset.status === "ready");
        });
    }
    if (name === "chromium") await test("in a service worker, in chromium", () => pageSays("sw.html"));
    await browser.close();
}

if (!missing("chromium"))
    await test("the example of an extension, in chromium", async () => {
        const extension = join(APP, "extension");
        cpSync("examples/extension", extension, { recursive: true });
        cpSync(PACKAGE, join(extension, "solo-gpu"), { recursive: true });
        const browser = await open("chromium", { extension });
        const worker = browser.context.serviceWorkers()[0] ?? (await browser.context.waitForEvent("serviceworker"));
        await browser.goto(new URL("/popup.html", worker.url()).href);
        await browser.evaluate(() => document.querySelector("form").requestSubmit());
        const answer = await browser.until(() => !document.querySelector("button").disabled && document.getElementById("answer").textContent);
        yes(answer.length > 100, answer);
        await browser.close();
    });

here.close();
cdn.close();
done();
