// Where models come from: a file that someone picked, a download that is kept, or a URL read in pieces.
//
// All of them end up as a source, { name, size, read(offset, length) }: no more of a file than was asked for is
// ever in memory. Downloads go to the browser's private file system (OPFS), and go on where they broke off.
import { Sha256 } from "./sha256.js";

const FOLDER = "models";
const TRIES = 6, PAUSE_MS = 400; // of a download that breaks off
const REPORT_MS = 100;
const MAGIC = "GGUF";

export class Cancelled extends Error {
    constructor() {
        super("cancelled");
        this.cancelled = true;
    }
}

/** A file that was picked or dropped. */
export function blobSource(blob, name = blob.name) {
    return { name, size: blob.size, read: async (offset, length) => new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer()) };
}

async function checkBeginning(source) {
    const bytes = source.size >= 4 ? await source.read(0, 4) : new Uint8Array(0);
    if (String.fromCharCode(...bytes) !== MAGIC) throw new Error(`${source.name} is no GGUF file`);
    return source;
}

export const fileSource = (file) => checkBeginning(blobSource(file));

// ---- kept models ----------------------------------------------------------------------

async function folder() {
    const root = await globalThis.navigator?.storage?.getDirectory?.();
    return root?.getDirectoryHandle(FOLDER, { create: true });
}

const nameOf = (url) => decodeURIComponent(new URL(url).pathname.split("/").pop()) || "model.gguf";
// two files of one name at different places are two
const keyOf = (url) => `${new Sha256().add(new TextEncoder().encode(url)).end().slice(0, 12)}-${nameOf(url).replace(/[^\w.-]/g, "_")}`;

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

/** What is kept: [{ key, name, url, size, bytes, complete }]. */
export async function listKept() {
    const place = await folder().catch(() => null), kept = [];
    if (!place) return kept;
    for await (const [file, handle] of place.entries()) {
        if (!file.endsWith(".gguf.data") && !file.endsWith(".data")) continue;
        const key = file.slice(0, -".data".length), note = await readNote(place, key);
        if (note) kept.push({ key, name: note.name, url: note.url, size: note.size, bytes: (await handle.getFile()).size, complete: note.complete });
    }
    return kept;
}

export async function deleteKept(key) {
    const place = await folder();
    for (const file of [`${key}.data`, `${key}.json`]) await place.removeEntry(file).catch(() => {});
}

export async function keptSource(key) {
    const place = await folder(), note = await readNote(place, key);
    if (!note?.complete) throw new Error("this model is not here, or not all of it");
    const file = await (await place.getFileHandle(`${key}.data`)).getFile();
    if (file.size !== note.size) throw new Error(`${note.name} should have ${note.size} bytes and has ${file.size}: delete it and load it again`);
    return checkBeginning(blobSource(file, note.name));
}

// ---- downloads ------------------------------------------------------------------------

const sizeIn = (response) => Number(response.headers.get("content-range")?.split("/")[1] ?? response.headers.get("content-length") ?? NaN);
const tagIn = (response) => response.headers.get("etag") ?? response.headers.get("last-modified") ?? "";
/** Some servers give a file's SHA-256 as its tag. */
const shaIn = (response) => [response.headers.get("x-linked-etag"), response.headers.get("etag")].map((tag) => tag?.match(/^(?:W\/)?"?([0-9a-f]{64})"?$/)?.[1]).find(Boolean) ?? null;

async function checkRoom(needed) {
    const { quota, usage } = (await navigator.storage.estimate?.()) ?? {};
    if (quota !== undefined && quota - usage < needed)
        throw new Error(`the model needs ${(needed / 1e9).toFixed(2)} GB of disk and the browser allows ${((quota - usage) / 1e9).toFixed(2)} GB more: delete other models, or open the file from disk instead`);
}

class Download {
    constructor(url, { onProgress = () => {}, signal, sha256 = null } = {}) {
        Object.assign(this, { url, onProgress, signal, sha256, key: keyOf(url), name: nameOf(url), told: 0 });
    }

    tell(what, done, total, final = false) {
        const now = performance.now();
        if (!final && now - this.told < REPORT_MS) return;
        this.told = now;
        this.onProgress({ what, done, total });
    }

    /** Asks for what is missing; a file that changed meanwhile begins anew. */
    async request(have, note) {
        const headers = have ? { range: `bytes=${have}-`, ...(note?.tag ? { "if-range": note.tag } : {}) } : {};
        const response = await fetch(this.url, { headers, signal: this.signal });
        if (response.status === 206 && note && sizeIn(response) === note.size) return { response, have };
        if (response.status === 416) {
            response.body?.cancel();
            return this.request(0, null);
        }
        if (!response.ok) throw Object.assign(new Error(`${this.name}: the server says ${response.status} ${response.statusText}`), { final: response.status < 500 });
        return { response, have: 0 };
    }

    /** One connection, until it ends. */
    async receive(place, handle) {
        const note = await readNote(place, this.key);
        const { response, have } = await this.request(Math.min(handle.getSize(), note?.size ?? 0), note);
        let at = have, size = note?.size;
        if (!have) {
            size = sizeIn(response);
            if (!(size > 0)) throw Object.assign(new Error(`${this.name}: the server does not say how large it is`), { final: true });
            await checkRoom(size);
            handle.truncate(0);
            await writeNote(place, this.key, { name: this.name, url: this.url, size, tag: tagIn(response), sha256: shaIn(response), complete: false });
        }
        const reader = response.body.getReader();
        for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            if (handle.write(value, { at }) !== value.length) throw Object.assign(new Error("the disk is full"), { final: true });
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
                throw new Error(`${this.name}: what came is not what was sent (its SHA-256 differs); it will be loaded anew`);
            }
        }
        await writeNote(place, this.key, { ...note, complete: true, checked: Boolean(wanted) });
    }

    async run(place) {
        const handle = await (await place.getFileHandle(`${this.key}.data`, { create: true })).createSyncAccessHandle();
        try {
            for (let tries = 1; ; tries++) {
                const before = handle.getSize();
                try {
                    if (await this.receive(place, handle)) break;
                    throw new Error(`${this.name}: the connection broke off`);
                } catch (error) {
                    if (this.signal?.aborted) throw new Cancelled();
                    if (handle.getSize() > before) tries = 1; // it gets on
                    if (error.final || tries === TRIES) throw error;
                    await new Promise((next) => setTimeout(next, PAUSE_MS * tries));
                }
            }
            await this.check(place, handle);
        } finally {
            handle.close();
        }
    }
}

/** Without a place to keep it: pieces of the file, as they are wanted. */
async function rangeSource(url, signal) {
    const first = await fetch(url, { headers: { range: "bytes=0-3" }, signal });
    await first.body?.cancel();
    if (first.status !== 206) throw new Error(`${nameOf(url)}: this browser gives no room to keep it, and the server sends no parts of it`);
    return checkBeginning({
        name: nameOf(url),
        size: sizeIn(first),
        async read(offset, length) {
            const response = await fetch(url, { headers: { range: `bytes=${offset}-${offset + length - 1}` }, signal });
            if (response.status !== 206) throw new Error(`${nameOf(url)}: the server says ${response.status}`);
            return new Uint8Array(await response.arrayBuffer());
        },
    });
}

/** A model at a URL, kept for the next time. */
export async function urlSource(url, options = {}) {
    const place = await folder().catch(() => null);
    if (!place) return rangeSource(url, options.signal);
    const download = new Download(url, options);
    if (!(await readNote(place, download.key))?.complete) {
        await navigator.storage.persist?.().catch(() => {});
        await download.run(place);
    }
    return keptSource(download.key);
}
