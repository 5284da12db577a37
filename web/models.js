// Where models come from: a file that someone picked, a download that is kept, or a URL read in pieces.
//
// All become a source, { name, size, read(offset, length) }: no more of a file than was asked for is in memory.
// Downloads go to the browser's private file system (OPFS), and go on where they broke off.
import { Sha256 } from "./sha256.js";

const FOLDER = "models";
const TRIES = 6, PAUSE_MS = 400; // of what breaks off on the way
const REPORT_MS = 100;
const MAGIC = "GGUF";

export class Cancelled extends Error {
    constructor() {
        super("cancelled");
        this.cancelled = true;
    }
}

/** An error that trying again does not help against. */
const final = (message) => Object.assign(new Error(message), { final: true });

/** Repeats until it succeeds, has failed too often, or fails for good; `gotOn` reports progress between failures. */
async function retried(act, signal, gotOn = () => false) {
    for (let tries = 1; ; tries++) {
        try {
            return await act();
        } catch (error) {
            if (signal?.aborted) throw new Cancelled();
            if (gotOn()) tries = 1;
            if (error.final || tries === TRIES) throw error;
            await new Promise((next) => setTimeout(next, PAUSE_MS * tries));
        }
    }
}

/** A file that was picked or dropped. */
export function blobSource(blob, name = blob.name ?? "the model") {
    return { name, size: blob.size, read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()) };
}

const NO_GGUF = " is no GGUF file";
/** These bytes may stand at this place of a model. */
const isBeginning = (at, bytes) => [...MAGIC].every((letter, i) => i < at || i - at >= bytes.length || bytes[i - at] === letter.charCodeAt(0));

async function checkBeginning(source) {
    const bytes = source.size >= 4 ? await source.read(0, 4) : new Uint8Array(0);
    if (bytes.length !== MAGIC.length || !isBeginning(0, bytes)) throw new Error(source.name + NO_GGUF);
    return source;
}

export const fileSource = (file) => checkBeginning(blobSource(file));

// ---- kept models ----------------------------------------------------------------------

async function folder() {
    const root = await globalThis.navigator?.storage?.getDirectory?.();
    return root?.getDirectoryHandle(FOLDER, { create: true });
}

function nameOf(url) {
    const last = new URL(url).pathname.split("/").pop();
    try {
        return decodeURIComponent(last) || "model.gguf";
    } catch { // a % that stands for itself
        return last;
    }
}
// two files of one name at different places are two
const keyOf = (url) => `${new Sha256().add(new TextEncoder().encode(url)).end().slice(0, 12)}-${nameOf(url).replace(/[^\w.-]/g, "_")}`;

/** What the browser's storage refuses, as a sentence. */
function fromStorage(error, name) {
    if (error.name === "QuotaExceededError") return final(`${name}: the browser gives no more room: delete other models, or open the file from disk instead`);
    if (error.name === "NoModificationAllowedError") return final(`${name} is in use: another tab may be loading it`);
    return error;
}

async function readNote(place, key) {
    try {
        const file = await (await place.getFileHandle(`${key}.json`)).getFile();
        return JSON.parse(await file.text());
    } catch {
        return null;
    }
}

async function writeNote(place, key, note) {
    const handle = await (await place.getFileHandle(`${key}.json`, { create: true })).createSyncAccessHandle();
    try {
        handle.truncate(0);
        handle.write(new TextEncoder().encode(JSON.stringify(note)), { at: 0 });
        handle.flush();
    } finally {
        handle.close();
    }
}

/** What is kept: [{ key, name, url, size, bytes, complete }]; also what nothing is known of any more, as it takes room. */
export async function listKept() {
    const place = await folder().catch(() => null), kept = [];
    if (!place) return kept;
    for await (const [file, handle] of place.entries()) {
        if (!file.endsWith(".data")) continue;
        const key = file.slice(0, -".data".length), { size: bytes } = await handle.getFile();
        const { name, url, size, complete } = (await readNote(place, key)) ?? { name: key.replace(/^[0-9a-f]{12}-/, ""), url: "", size: bytes, complete: false };
        kept.push({ key, name, url, size, bytes, complete });
    }
    return kept;
}

export async function deleteKept(key) {
    const place = await folder();
    // the data first: as long as they are there, they are listed and can be deleted again
    await place.removeEntry(`${key}.data`).catch((error) => {
        if (error.name !== "NotFoundError") throw fromStorage(error, "the model");
    });
    await place.removeEntry(`${key}.json`).catch(() => {});
}

export async function keptSource(key) {
    const place = await folder(), note = await readNote(place, key);
    if (!note?.complete) throw new Error("this model is not here, or not all of it");
    const file = await (await place.getFileHandle(`${key}.data`)).getFile();
    if (file.size !== note.size) throw new Error(`${note.name} should have ${note.size} bytes and has ${file.size}: delete it and load it again`);
    return checkBeginning(blobSource(file, note.name));
}

// ---- downloads ------------------------------------------------------------------------

const PROTOCOLS = ["http:", "https:", "blob:"];

/** An address as someone typed it, if a model can be there. */
function checkedUrl(text) {
    const short = String(text).slice(0, 100), url = URL.canParse(text) ? new URL(text) : null;
    if (!url) throw final(`"${short}" is no address: it begins with https://`);
    if (!PROTOCOLS.includes(url.protocol)) throw final(`"${short}": models come by https:// or http://, not by ${url.protocol}`);
    if (url.username || url.password) throw final(`${nameOf(text)}: the address has a name or a password in it, which browsers do not send`);
    url.hash = "";
    return url.href;
}

/** A browser does not say why there is no answer. */
async function ask(url, name, options) {
    try {
        return await fetch(url, options);
    } catch (error) {
        if (options.signal?.aborted || !(error instanceof TypeError)) throw error;
        throw new Error(`${name}: no answer: there is no network, nobody is at ${new URL(url).host || "that address"}, or it does not let other pages read its files (CORS)`);
    }
}

/** Many servers answer with a page: that one must sign in, agree to something, or that there is no such file. */
function refuseHtml(response, name) {
    if (!/^(?:text\/html|application\/xhtml)/i.test(response.headers.get("content-type") ?? "")) return;
    response.body?.cancel().catch(() => {});
    throw final(`${name}: the server sends a web page instead of a model: look at the address in a tab`);
}

const lengthIn = (response) => Number(response.headers.get("content-length") ?? NaN);
const tagIn = (response) => response.headers.get("etag") ?? response.headers.get("last-modified") ?? "";
/** Some servers give a file's SHA-256 as its tag. */
const shaIn = (response) => [response.headers.get("x-linked-etag"), response.headers.get("etag")].map((tag) => tag?.match(/^(?:W\/)?"?([0-9a-f]{64})"?$/)?.[1]).find(Boolean) ?? null;

/** Where the part that came lies, and in how much: null where another origin does not let it be read. */
function partIn(response) {
    const [, from, size] = response.headers.get("content-range")?.match(/^bytes (\d+)-\d+\/(\d+)$/) ?? [];
    return size === undefined ? null : { from: Number(from), size: Number(size) };
}

/** What came is the rest of what is here. */
function goesOn(response, have, note) {
    const { from, size } = partIn(response) ?? { from: have, size: have + lengthIn(response) }, tag = tagIn(response);
    return from === have && size === note.size && (!tag || tag === note.tag);
}

function refusal(name, { status, statusText }) {
    return Object.assign(new Error(`${name}: the server says ${status} ${statusText}`.trim()), { final: status < 500 });
}

async function checkRoom(needed) {
    const { quota, usage } = (await navigator.storage.estimate?.()) ?? {};
    if (quota !== undefined && quota - usage < needed)
        throw new Error(`the model needs ${(needed / 1e9).toFixed(2)} GB of disk and the browser allows ${((quota - usage) / 1e9).toFixed(2)} GB more: delete other models, or open the file from disk instead`);
}

class Download {
    constructor(url, { onProgress = () => {}, signal, sha256 = null } = {}) {
        Object.assign(this, { url, onProgress, signal, sha256: sha256?.toLowerCase() ?? null, key: keyOf(url), name: nameOf(url), reportedAt: 0 });
    }

    tell(what, done, total) {
        const now = performance.now();
        if (now - this.reportedAt < REPORT_MS) return;
        this.reportedAt = now;
        this.onProgress({ what, done, total });
    }

    /**
     * Asks for what is missing. No header but Range: any other would make a browser ask another origin beforehand
     * whether it may be sent, and most say no. So it is the answer that shows whether the file changed meanwhile.
     */
    async request(have, note) {
        const response = await ask(this.url, this.name, { headers: have ? { range: `bytes=${have}-` } : {}, signal: this.signal });
        if (response.ok) refuseHtml(response, this.name);
        if (response.status === 200) return { response, have: 0 };
        if (response.status === 206 && have && goesOn(response, have, note)) return { response, have };
        response.body?.cancel().catch(() => {});
        if (have && (response.status === 206 || response.status === 416)) return this.request(0, null);
        throw refusal(this.name, response);
    }

    /** One connection, until it ends. */
    async receive(place, handle) {
        const note = await readNote(place, this.key);
        if (note && handle.getSize() === note.size) return true; // only the check is missing
        const { response, have } = await this.request(Math.min(handle.getSize(), note?.size ?? 0), note);
        let at = have, size = note?.size;
        if (!have) {
            size = lengthIn(response);
            if (!(size > 0)) throw final(`${this.name}: the server does not say how large it is`);
            await checkRoom(size);
            handle.truncate(0);
            await writeNote(place, this.key, { name: this.name, url: this.url, size, tag: tagIn(response), sha256: shaIn(response), complete: false });
        }
        const reader = response.body.getReader();
        for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            const wrong = at + value.length > size ? `: more than the ${size} bytes came that were promised` : !isBeginning(at, value) ? NO_GGUF : null;
            if (wrong) {
                reader.cancel().catch(() => {});
                handle.truncate(0);
                throw final(this.name + wrong);
            }
            if (handle.write(value, { at }) !== value.length) throw final("the disk is full");
            at += value.length;
            this.tell("downloading", at, size);
        }
        handle.flush();
        return at >= size;
    }

    async check(place, handle) {
        const note = await readNote(place, this.key), wanted = this.sha256 ?? note.sha256;
        if (handle.getSize() !== note.size) throw new Error(`${this.name}: ${handle.getSize()} bytes came, and ${note.size} were promised`);
        if (wanted) {
            const hash = new Sha256(), piece = new Uint8Array(1 << 22);
            for (let at = 0; at < note.size; at += piece.length) {
                if (this.signal?.aborted) throw new Cancelled();
                hash.add(piece.subarray(0, handle.read(piece, { at })));
                this.tell("checking", at, note.size);
                await new Promise((next) => setTimeout(next, 0)); // a cancel must get through
            }
            if (hash.end() !== wanted) {
                handle.truncate(0);
                await writeNote(place, this.key, { ...note, complete: false });
                throw new Error(`${this.name}: what came is not what was sent (its SHA-256 differs); it will be loaded anew`);
            }
        }
        await writeNote(place, this.key, { ...note, complete: true, checked: wanted ?? note.checked ?? null });
    }

    async run(place) {
        const file = await place.getFileHandle(`${this.key}.data`, { create: true });
        const handle = await file.createSyncAccessHandle().catch((error) => {
            throw fromStorage(error, this.name);
        });
        try {
            let before = 0;
            await retried(async () => {
                before = handle.getSize();
                const whole = await this.receive(place, handle).catch((error) => {
                    throw fromStorage(error, this.name);
                });
                if (!whole) throw new Error(`${this.name}: the connection broke off`);
            }, this.signal, () => handle.getSize() > before);
            await this.check(place, handle);
        } finally {
            handle.close();
        }
    }
}

/** All of an answer, which must be as long as was asked for. */
async function bytesIn(response, count, name) {
    const reader = response.body.getReader(), bytes = new Uint8Array(count);
    for (let at = 0; ; ) {
        const { done, value } = await reader.read();
        if (done && at < count) throw new Error(`${name}: the connection broke off`);
        if (done) return bytes;
        if (at + value.length > count) {
            reader.cancel().catch(() => {});
            throw final(`${name}: the server sends more than the part that was asked for`);
        }
        bytes.set(value, at);
        at += value.length;
    }
}

/** Without storage: fetches pieces of the file as they are needed. */
async function rangeSource(url, signal) {
    const name = nameOf(url), apart = `${name}: this browser gives no room to keep it, and the server`;
    const part = (from, to) => retried(async () => {
        const response = await ask(url, name, { headers: { range: `bytes=${from}-${to}` }, signal });
        if (response.ok) refuseHtml(response, name);
        if (response.status === 206) return { part: partIn(response), bytes: await bytesIn(response, to - from + 1, name) };
        response.body?.cancel().catch(() => {});
        throw response.ok ? final(`${apart} sends no parts of it`) : refusal(name, response);
    }, signal);
    const first = await part(0, 3);
    if (!first.part) throw final(`${apart} does not let this page read how large it is (it exposes no Content-Range)`);
    return checkBeginning({ name, size: first.part.size, read: async (offset, length) => (await part(offset, offset + length - 1)).bytes });
}

/** A model at a URL, kept for the next time. */
export async function urlSource(address, options = {}) {
    const url = checkedUrl(address);
    const place = await folder().catch(() => null);
    if (!place) return rangeSource(url, options.signal);
    const download = new Download(url, options);
    const note = await readNote(place, download.key);
    if (!note?.complete || (download.sha256 && note.checked !== download.sha256)) {
        await navigator.storage.persist?.().catch(() => {});
        await download.run(place).catch(async (error) => {
            const begun = (await listKept()).find(({ key }) => key === download.key);
            if (begun?.bytes === 0) await deleteKept(download.key).catch(() => {}); // nothing of it came
            throw error;
        });
    }
    return keptSource(download.key);
}
