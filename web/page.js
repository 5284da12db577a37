// The page: which view is shown, the one Solo that all views use, and error messages.
import { Solo } from "./solo.js";
import { startChat } from "./chat.js";
import { startModels } from "./picker.js";
import { hasRemembered } from "./remembered.js";
import { startMeasure } from "./measure.js";
import { startLive } from "./live.js";
import { showHow } from "./how.js";
import { say, unsay } from "./notices.js";
import { readSite } from "./site.js";
import { haveGpu } from "./tabs.js";
import { startUpdates } from "./updates.js";

const $ = (id) => document.getElementById(id);
const options = Object.fromEntries(new URLSearchParams(location.search)); // adapter=software, jspi=off, rounds=N: for those who try things

/** What a person can do about an error. */
function advice(error) {
    if (error.lost) return "The GPU went away (it was reset, or another program took it). Your conversation is kept.";
    if (error.noGpu) return `${error.message.replace(/^web: /, "")}.`;
    if (/memory/i.test(error.message)) return `${error.message}. A smaller model, a smaller type of weights or a shorter context (Settings) needs less.`;
    return error.message.replace("(-c N makes it longer)", "(Settings have a longer one, if the model and the memory allow it)");
}

/** What the views share. */
export const page = {
    solo: null, // while a new one comes there is none
    remote: null, // the server's model, while that answers
    busy: false,
    trouble(error, again = null) {
        if (error.cancelled) return;
        console.warn(error);
        $("trouble").hidden = false;
        $("trouble-text").textContent = advice(error);
        $("trouble-again").hidden = !again;
        $("trouble-again").onclick = () => {
            page.calm();
            again();
        };
    },
    calm() {
        $("trouble").hidden = true;
    },
};

const NOTHING = {}; // in the place of a model

function showView() {
    const wanted = location.hash.slice(1), view = ["chat", "measure", "how"].includes(wanted) ? wanted : "chat";
    if (wanted === "main" && document.querySelector("nav [aria-current]")) return; // to the content of the view that is shown
    for (const section of document.querySelectorAll("main > section")) section.hidden = section.id !== view;
    for (const link of document.querySelectorAll("nav a")) {
        if (link.hash === `#${view}`) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
    if (view === "how") showHow($("how")).catch((error) => page.trouble(error, showView));
}

async function start() {
    globalThis.soloPage = page; // for those who look in from the console
    const chat = startChat(page), models = startModels(page, chat);
    startMeasure(page, { rounds: Number(options.rounds) || 0 });
    startLive(page);
    $("trouble-close").onclick = page.calm;
    addEventListener("hashchange", showView);
    showView();
    let hasGpu = false;
    /** Another tab has the GPU: this one lets go of it, or waits until it is wanted here. */
    const elsewhere = () => {
        page.solo?.end();
        page.solo = null;
        page.busy = false;
        if (!page.remote) chat.unavailable("In another tab");
        say("tab", "Another tab with this page uses the GPU. One tab at a time does: two would share its memory and its speed.", { "Use it in this tab": () => page.restart({ take: true }) }, { stays: true });
    };
    // without `wanted`: the last visit's model; which one that is, the storage says only when the device is there
    const open = async (wanted = null, take = false) => {
        if (!hasGpu || take) hasGpu = await haveGpu({ take, onTaken: () => (hasGpu = false, elsewhere()) });
        if (!hasGpu) return elsewhere();
        unsay("tab");
        try {
            const solo = await Solo.open({ adapter: options.adapter, jspi: options.jspi === "off" ? false : undefined, builtin: !wanted?.model && !hasRemembered() });
            if (!hasGpu) return solo.end(); // it was taken meanwhile
            page.solo = solo;
        } catch (error) {
            chat.unavailable(error.noGpu ? "No GPU" : "It could not be started");
            page.trouble(error, () => open(wanted));
            return;
        }
        if (wanted !== NOTHING) await (wanted ? models.load(wanted) : models.loadLast());
    };
    /** A device, for those who need one though the server answers; whether there is one now. */
    page.needGpu = async () => {
        if (!page.solo && page.remote) await open(NOTHING);
        return page.solo !== null;
    };
    /** Gives up what the worker is at. */
    page.restart = async ({ take = false } = {}) => {
        const before = page.solo;
        page.solo = null;
        chat.unloaded();
        before?.end();
        page.busy = false; // what it was busy with is over
        await open(page.remote ? NOTHING : models.last(), take);
    };
    const { api } = await readSite();
    if (!api || !(await models.useServer(api))) await open();
    startUpdates(); // not before the page is of use
}

start();
