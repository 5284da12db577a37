// Real browsers, with software Vulkan under them: open(name, url) gives { evaluate, screenshot, size, close }, or says why not.
// SOLO_VULKAN_DRIVER names another driver for Chromium, SOLO_CHROMIUM a Chromium that has the stand-in for it already,
// SOLO_CHROMIUM_FLAGS more flags.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FIREFOX = ["/usr/bin/firefox-esr", "/usr/bin/firefox"];
const CHROMIUM_FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader", "--disable-dev-shm-usage",
    // for a driver other than SwiftShader in its place
    "--disable-gpu-sandbox", "--ignore-gpu-blocklist", "--enable-features=Vulkan", "--use-vulkan=native", "--use-angle=vulkan",
    "--enable-webgpu-developer-features", // the driver's own name, which says what that is
];
const FIREFOX_SETTINGS = {
    "dom.webgpu.enabled": true, "dom.webgpu.workers.enabled": true, "gfx.webgpu.ignore-blocklist": true, "datareporting.policy.dataSubmissionEnabled": false,
    "app.update.enabled": false, "network.captive-portal-service.enabled": false, "network.connectivity-service.enabled": false,
    "browser.safebrowsing.update.enabled": false, "services.settings.server": "data:,", "toolkit.telemetry.enabled": false,
    "layout.css.prefers-color-scheme.content-override": 0, // dark
};

const LIMIT_MS = 600_000; // for what hangs; check.mjs has a longer one for a whole test

const found = (places) => places.find(existsSync);

const driverPath = () => process.env.SOLO_VULKAN_DRIVER ?? lavapipe();

/** Why a browser cannot be tried here, or null. */
export function missing(name) {
    if (name === "chromium" && process.env.SOLO_CHROMIUM) return null;
    if (!found(name === "chromium" ? CHROMIUM : FIREFOX)) return `${name} is not installed`;
    return name === "chromium" && !chromiumWith(driverPath()) ? "chromium has SwiftShader only here, which takes seconds for a token" : null;
}

/** lavapipe's library, as the loader's file names it. */
function lavapipe() {
    const icd = ["/usr/share/vulkan/icd.d/lvp_icd.json", "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"].find(existsSync);
    return icd && JSON.parse(readFileSync(icd, "utf8")).ICD.library_path;
}

/** Chromium with another driver in the place of SwiftShader's (chromium_vulkan.c); its other files are links where that can be. */
function chromiumWith(driver) {
    const binary = "/usr/lib/chromium/chromium", own = join("build", "chromium"), mine = join(own, "chromium"), stand_in = join(own, "libvk_swiftshader.so");
    if (!existsSync(binary) || !driver) return null;
    const current = existsSync(stand_in) && existsSync(mine) && statSync(mine).mtimeMs === statSync(binary).mtimeMs;
    try {
        if (!current) {
            rmSync(own, { recursive: true, force: true });
            mkdirSync(own, { recursive: true });
            try {
                execFileSync("cp", ["-a", "--link", `${dirname(binary)}/.`, own], { stdio: "ignore" });
            } catch {
                execFileSync("cp", ["-a", `${dirname(binary)}/.`, own]);
            }
            rmSync(stand_in);
            execFileSync(process.env.CC ?? "cc", ["-shared", "-fPIC", "-O2", "-fvisibility=hidden", "tests/web/chromium_vulkan.c", "-ldl", "-o", stand_in]);
        }
        return join(process.cwd(), mine);
    } catch {
        rmSync(own, { recursive: true, force: true });
        return null;
    }
}

/** @param extension a folder with one to be loaded */
async function openChromium({ extension } = {}) {
    const { chromium } = await import("playwright-core");
    const profile = mkdtempSync(join(tmpdir(), "solo-chromium-")), driver = driverPath(), own = process.env.SOLO_CHROMIUM ?? chromiumWith(driver);
    const context = await chromium.launchPersistentContext(profile, {
        executablePath: own,
        args: [...CHROMIUM_FLAGS, ...(extension ? [`--disable-extensions-except=${extension}`, `--load-extension=${extension}`] : []), ...(process.env.SOLO_CHROMIUM_FLAGS ?? "").split(" ").filter(Boolean)],
        ...(extension ? { ignoreDefaultArgs: ["--disable-extensions"] } : {}),
        env: { ...process.env, XDG_RUNTIME_DIR: tmpdir(), SOLO_VULKAN_DRIVER: driver },
        acceptDownloads: true,
        timeout: LIMIT_MS,
    });
    const page = context.pages()[0] ?? (await context.newPage());
    page.setDefaultTimeout(LIMIT_MS);
    return {
        page,
        context,
        goto: (url) => page.goto(url),
        evaluate: (act, argument) => page.evaluate(act, argument),
        size: (width, height) => page.setViewportSize({ width, height }),
        dark: (dark) => page.emulateMedia({ colorScheme: dark ? "dark" : "light" }),
        another: async () => tabOf(await context.newPage()),
        offline: (off) => context.setOffline(off),
        screenshot: (path) => page.screenshot({ path }),
        onConsole: (heard) => (page.on("console", (m) => heard(m.text())), page.on("pageerror", (e) => heard(`error: ${e.message}`))),
        async close() {
            await context.close();
            rmSync(profile, { recursive: true, force: true });
        },
    };
}

/** One more tab of a browser. */
function tabOf(page) {
    page.setDefaultTimeout(LIMIT_MS);
    const tab = { goto: (url) => page.goto(url), evaluate: (act, argument) => page.evaluate(act, argument), close: () => page.close() };
    return { ...tab, until: (act, ms = LIMIT_MS, argument) => until(tab, act, ms, argument) };
}

async function openFirefox() {
    const { default: puppeteer } = await import("puppeteer-core");
    const browser = await puppeteer.launch({ browser: "firefox", executablePath: found(FIREFOX), headless: true, extraPrefsFirefox: FIREFOX_SETTINGS, protocolTimeout: LIMIT_MS, timeout: LIMIT_MS });
    const page = await browser.newPage();
    page.setDefaultTimeout(LIMIT_MS);
    return {
        page,
        goto: (url) => page.goto(url),
        evaluate: (act, argument) => page.evaluate(act, argument),
        another: async () => tabOf(await browser.newPage()),
        size: (width, height) => page.setViewport({ width, height }),
        dark: null, // it is, throughout: that cannot be changed from outside
        screenshot: (path) => page.screenshot({ path }),
        onConsole: (heard) => (page.on("console", (m) => heard(m.text())), page.on("pageerror", (e) => heard(`error: ${e.message}`))),
        close: () => browser.close(),
    };
}

/** Until something is true in the page. */
async function until(browser, act, ms, argument) {
    for (const end = Date.now() + ms; Date.now() < end; await new Promise((next) => setTimeout(next, 100))) {
        const found = await browser.evaluate(act, argument).catch((error) => {
            if (!/context was destroyed|navigation|detached|destroyed/i.test(error.message)) throw error; // it is being reloaded
        });
        if (found) return found;
    }
    throw new Error(`timed out after ${ms / 1000} s waiting for ${act}`);
}

export async function open(name, options) {
    const browser = await (name === "chromium" ? openChromium(options) : openFirefox());
    return {
        ...browser,
        until: (act, ms = LIMIT_MS, argument) => until(browser, act, ms, argument),
        close: () => Promise.race([browser.close(), new Promise((next) => setTimeout(next, 5000))]), // some never answer
    };
}
