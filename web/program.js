// A program of Solo's C with a device (src/web): started, asked for one thing after the other, and what follows if it breaks down.
import { gpuImports, hostName } from "./gpu.js";
import { instantiate, wasmFile } from "./wasm.js";

const ADAPTERS = ["any", "gpu", "software"];
export const LEVELS = ["auto", "none", "ops", "token", "loop"];

// each written out, so that a bundler sees what belongs to the program and gives it a place
const FILES = {
    "solo.wasm": new URL("./solo.wasm", import.meta.url),
    "solo-asyncify.wasm": new URL("./solo-asyncify.wasm", import.meta.url),
    "solo-chat.wasm": new URL("./solo-chat.wasm", import.meta.url),
    "solo-sim.wasm": new URL("./solo-sim.wasm", import.meta.url),
    "solo-sim-asyncify.wasm": new URL("./solo-sim-asyncify.wasm", import.meta.url),
    "solo-torch.wasm": new URL("./solo-torch.wasm", import.meta.url),
    "solo-torch-asyncify.wasm": new URL("./solo-torch-asyncify.wasm", import.meta.url),
    "builtin.gguf": new URL("./builtin.gguf", import.meta.url),
};
let base = null;

/** Where those files are, if not beside this one: an absolute URL. */
export const findFilesAt = (url) => (base = url);

/** One of those files, whatever serves it. */
export async function fetchBeside(name) {
    const url = base ? new URL(name, base) : FILES[name];
    if (url.protocol === "file:" && !globalThis.Deno) {
        const { readFile } = process.getBuiltinModule("node:fs/promises"); // no import: bundlers for pages would follow it
        return new Response(await readFile(url));
    }
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
    return response;
}

/** Compiled while it downloads, if the server sends the right content type. */
export async function fetchModule(name) {
    const response = await fetchBeside(name);
    if (/^application\/wasm/.test(response.headers.get("content-type") ?? "")) return WebAssembly.compileStreaming(response);
    return WebAssembly.compile(await response.arrayBuffer());
}

/** Where a name stands in a list; C counts them so. */
export function placeOf(names, name, what) {
    const at = names.indexOf(name);
    if (at < 0) throw new TypeError(`there is no ${what} "${name}": it is one of ${names.join(", ")}`);
    return at;
}

/** What nobody reads is a mistake of whoever wrote it. */
export function nothingElse(others, where = "") {
    const name = Object.keys(others).find((key) => others[key] !== undefined);
    if (name) throw new TypeError(`there is no option "${where}${name}"`);
}

/** A record, with what C does not know: where it runs. */
export function signed(record) {
    const { navigator, crossOriginIsolated = false } = globalThis;
    record.host = { os: navigator?.userAgent ?? hostName(), cpu: "unknown", cores: navigator?.hardwareConcurrency ?? 0, page: hostName(), cross_origin_isolated: crossOriginIsolated };
    return record;
}

export const adapterNumber = (name) => placeOf(ADAPTERS, name, "adapter");

export class Program {
    wasm;
    onProgress = () => {};
    #gpu;
    #last = Promise.resolve();
    #lastWords = ""; // what C wrote last: the reason for its end
    #dead = null;

    /**
     * @param name of the wasm file, but for its form
     * @param options.gpu what navigator.gpu is
     * @param options.memory a Map-like for what is worth keeping between visits, or a promise of one
     * @param options.jspi false: not even where it is there
     * @param makePage (text, bytes) => imports of module "page" that only this program has
     */
    async start(name, { gpu = globalThis.navigator?.gpu, environment = {}, memory = new Map(), jspi, log = console.warn }, makePage = () => ({})) {
        const module = await fetchModule(wasmFile(name, jspi)), kept = await memory;
        const heard = (text) => {
            this.#lastWords = text.trim().split("\n").at(-1) || this.#lastWords;
            log(text);
        };
        this.wasm = await instantiate(module, ({ memory: wasmMemory, text, bytes }) => {
            const { suspending = {}, immediate = {} } = makePage(text, bytes);
            return { gpu: this.#gpu = gpuImports(gpu, wasmMemory, text), page: { suspending, immediate: { ...this.#pageImports(text, bytes, kept), ...immediate } } };
        }, { environment, log: heard });
        return this;
    }

    #pageImports(text, bytes, kept) {
        return {
            progress: (what, done, total) => this.onProgress({ what: text.read(what), done, total }),
            recall: (key, out, room) => {
                const value = kept.get(text.read(key));
                if (value === undefined) return -1;
                if (room) bytes(out, room).set(new TextEncoder().encode(value).subarray(0, room));
                return new TextEncoder().encode(value).length;
            },
            remember: (key, value) => void kept.set(text.read(key), text.read(value)),
        };
    }

    /** C failed, by a trap or out of memory: the instance cannot be used any more, and its devices are released. */
    get dead() {
        return this.#dead !== null;
    }

    async call(name, ...args) {
        if (this.#dead) throw this.#dead;
        try {
            return await this.wasm.call(name, ...args);
        } catch (error) {
            const why = this.#lastWords || error.message, isMemory = /memory|allocat/i.test(why) || error instanceof RangeError;
            this.#dead = Object.assign(new Error(isMemory ? `out of memory (${why})` : `the program broke down: ${why}`), { dead: true });
            this.#gpu.closeAll();
            throw this.#dead;
        }
    }

    /** Waits until all kernels that compile in the background are ready, or have failed. */
    madeAhead() {
        return this.#gpu.madeAhead();
    }

    /** After all calls before it. */
    next(act) {
        const mine = this.#last.then(act);
        this.#last = mine.catch(() => {});
        return mine;
    }

    /** What C has to say after a call. */
    async ask(name, ...args) {
        const { exports, bytes } = this.wasm;
        const status = await this.call(name, ...args);
        const said = new TextDecoder().decode(bytes(exports.solo_said(), exports.solo_said_bytes()).slice());
        if (status) throw Object.assign(new Error(said), { usage: status === 2, noGpu: status === 3 });
        return said ? JSON.parse(said) : {};
    }
}
