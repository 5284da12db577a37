// Models of a hub: a repository by its name, or words to search for; which of its files suits this GPU, and why. Nothing is
// asked before the visitor does, and nothing of what comes back is trusted.
import { bytes } from "./format.js";
import { readSite } from "./site.js";

const GB = 1e9, MOST_TEXT = 16_000_000, MOST_FOUND = 20, MOST_MODEL = 2 ** 50;
const MEMORY = "solo-gpu-memory", SIZES = [2, 4, 6, 8, 12, 16, 24, 48, 80]; // GB
const BESIDE = 0.5 * GB, SHARE = 1.05; // what a model needs beside its file: the cache, working memory, kernels
/** Small and good first; then what is larger than it need be; then what is smaller and worse (as solo pull has it). */
const PREFERRED = ["Q4_K_M", "Q4_K_S", "IQ4_NL", "IQ4_XS", "MXFP4", "Q4_0", "Q4_1", "Q5_K_M", "Q5_K_S", "Q5_0", "Q5_1", "Q6_K", "Q8_0", "F16", "BF16", "F32", "Q3_K_M", "Q3_K_L", "IQ3_S", "Q3_K_S", "Q2_K", "TQ2_0", "IQ2_S"];

/** "owner/repository" in what someone pasted, or null. */
export function repositoryIn(text, hub) {
    const path = text.trim().replace(new RegExp(`^${hub.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}/`), "").replace(/^https?:\/\/[^/]*\//, "");
    return path.match(/^([\w-][\w.-]{0,95}\/[\w-][\w.-]{0,95})(?:\/|$|:|\?|#)/)?.[1] ?? null;
}

const typeOf = (path) => PREFERRED.find((type) => new RegExp(`(?:^|[^a-z0-9])${type}(?![a-z0-9_])`, "i").test(path.replace(/\.gguf$/i, ""))) ?? null;
export const needOf = (size) => size * SHARE + BESIDE;

/** The models of a hub's list of files that are one file each: [{ path, size, type, sha256 }], and how many are in parts. */
export function modelsIn(list) {
    if (!Array.isArray(list)) throw new Error("what the hub sent is no list of files");
    const isSafe = (path) => typeof path === "string" && path.length < 500 && path.split("/").every((part) => part && !part.startsWith(".")) && !/[\u0000-\u001f\\]/.test(path);
    const files = list.filter((f) => f?.type === "file" && isSafe(f.path) && /\.gguf$/i.test(f.path) && !/(^|\/)mmproj|imatrix/i.test(f.path)).map(({ path, size, lfs }) => ({ path, size: lfs?.size ?? size, type: typeOf(path), sha256: /^[0-9a-f]{64}$/.test(lfs?.oid) ? lfs.oid : undefined }));
    const sized = files.filter(({ size }) => Number.isSafeInteger(size) && size > 0 && size < MOST_MODEL), isPart = ({ path }) => /-\d{5}-of-\d{5}\.gguf$/i.test(path);
    return { models: sized.filter((f) => !isPart(f)), parts: sized.filter(isPart).length };
}

/** The one for a GPU with so much memory, and why. */
export function choose(models, memory) {
    const rank = ({ type }) => (type === null ? PREFERRED.length : PREFERRED.indexOf(type));
    const order = [...models].sort((a, b) => rank(a) - rank(b) || a.path.length - b.path.length), fits = ({ size }) => needOf(size) <= memory;
    const found = order.find(fits), first = order[0], smallest = models.reduce((a, b) => (b.size < a.size ? b : a));
    const needs = (model) => `${model.type ?? "it"} needs about ${bytes(needOf(model.size))} with its cache`;
    if (!found) return { model: smallest, fits: false, why: `None fits into ${bytes(memory)}: this is the smallest, and ${needs(smallest)}.` };
    const passed = first === found ? "Of these it is the best for its size" : `${first.type ?? first.path} does not fit: ${needs(first)}`;
    return { model: found, fits: true, why: `${passed}; ${needs(found)}, and ${bytes(memory)} are assumed to be there.` };
}

/** What the GPU's memory is taken to be: browsers do not say. */
function assumedMemory(info) {
    try {
        const said = Number(localStorage.getItem(MEMORY));
        if (SIZES.includes(said)) return said * GB;
    } catch {} // no storage
    return (info?.gpu.adapter_type === "software" ? Math.max(2, (navigator.deviceMemory ?? 4) / 2) : 4) * GB;
}

async function ask(url) {
    const { host } = new URL(url), response = await fetch(url, { credentials: "omit", referrerPolicy: "no-referrer" }).catch(() => {
        throw new Error(`${host} does not answer: is there a network?`);
    });
    if (response.status === 401 || response.status === 403 || response.status === 404) throw new Error(`${host} has no such repository, or not for everyone`);
    if (!response.ok) throw new Error(`${host} says ${response.status}`);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (let read; !(read = await reader.read()).done; ) {
        text += read.value;
        if (text.length > MOST_TEXT) {
            reader.cancel().catch(() => {});
            throw new Error(`${host} sends a list that is too long`);
        }
    }
    try {
        return JSON.parse(text);
    } catch {
        throw new Error(`${host} sends no list`);
    }
}

function make(tag, text, more = {}) {
    const made = Object.assign(document.createElement(tag), more);
    if (text) made.textContent = text;
    return made;
}

/** Makes the form and the place for what is found work. `load` gets { model: URL, sha256 }. */
export async function startCatalogue(form, into, { info, load }) {
    const { hub } = await readSite();

    function showFiles(repository, { models, parts }) {
        if (!models.length) return into.replaceChildren(make("p", parts ? `${repository} has its models in several files each, which this page does not read: solo run ${repository} does.` : `${repository} has no GGUF file.`));
        const memory = make("select"), file = make("select"), why = make("p", "", { className: "soft" }), go = make("button", "Load it", { type: "button" });
        for (const size of SIZES) memory.append(make("option", `${size} GB`, { value: size }));
        memory.value = SIZES.findLast((size) => size * GB <= assumedMemory(info())) ?? SIZES[0];
        for (const { path, size } of models) file.append(make("option", `${path} · ${bytes(size)}`, { value: path }));
        const pick = () => {
            const chosen = choose(models, Number(memory.value) * GB);
            file.value = chosen.model.path;
            why.textContent = chosen.why;
        };
        memory.onchange = () => {
            try {
                localStorage.setItem(MEMORY, memory.value);
            } catch {} // no storage: it lasts as long as the page
            pick();
        };
        file.onchange = () => {
            const { size, type } = models.find(({ path }) => path === file.value), memoryBytes = Number(memory.value) * GB, need = needOf(size);
            why.textContent = `${type ?? "It"} needs about ${bytes(need)} with its cache: ${need <= memoryBytes ? "that fits" : `more than the ${bytes(memoryBytes)} that are assumed`}.`;
        };
        go.onclick = () => {
            const { path, sha256 } = models.find((m) => m.path === file.value);
            load({ model: `${hub}/${repository}/resolve/main/${path.split("/").map(encodeURIComponent).join("/")}`, sha256 });
        };
        const row = make("p", "", { className: "row" }), ofGpu = make("label", "The GPU's memory (browsers do not say) "), ofFile = make("label", "File ");
        ofGpu.append(memory);
        ofFile.append(file);
        row.append(ofFile, go);
        pick();
        into.replaceChildren(make("p", repository), row, ofGpu, why);
    }

    async function list(repository) {
        into.replaceChildren(make("p", `Asking ${new URL(hub).host} …`, { className: "soft" }));
        showFiles(repository, modelsIn(await ask(`${hub}/api/models/${repository}/tree/main?recursive=true`)));
    }

    async function search(words) {
        const found = await ask(`${hub}/api/models?${new URLSearchParams({ search: words, filter: "gguf", sort: "downloads", limit: MOST_FOUND })}`);
        const names = (Array.isArray(found) ? found : []).map((m) => m?.id ?? m?.modelId).filter((id) => typeof id === "string" && repositoryIn(id, hub) === id).slice(0, MOST_FOUND);
        const items = make("ul", "", { className: "found" });
        items.append(...names.map((name) => {
            const item = make("li"), button = make("button", name, { type: "button" });
            button.onclick = () => attempt(() => list(name));
            item.append(button);
            return item;
        }));
        into.replaceChildren(names.length ? items : make("p", `${new URL(hub).host} knows no GGUF repository for “${words}”.`));
    }

    const attempt = (act) => act().catch((error) => into.replaceChildren(make("p", `${error.message}.`)));
    form.onsubmit = (event) => {
        event.preventDefault();
        const text = form.elements.repository.value, repository = repositoryIn(text, hub);
        attempt(() => (repository ? list(repository) : search(text.trim())));
    };
}
