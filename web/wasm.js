// Solo's C as a wasm module: loading it, calling it, strings, and the little of WASI that it uses.
//
// C waits for the GPU and for files; a page must not. So C is suspended until a promise is kept: by the
// host (JSPI), or by a second form of the module, which unwinds and rewinds its stack (Asyncify).

const hasJspi = () => typeof WebAssembly.Suspending === "function" && typeof WebAssembly.promising === "function";

/** Which of the two files of a program this host takes. */
export const wasmFile = (program, jspi = hasJspi()) => `${program}${jspi ? "" : "-asyncify"}.wasm`;

const UNWIND_BYTES = 256 * 1024; // of suspended stack, at most

class Asyncify {
    #waiting = null; // { promise } while unwinding; { value } or { error } while rewinding
    #rewinding = false;
    #exports;
    #data;

    wrap(act) {
        return (...args) => {
            if (this.#rewinding) {
                this.#exports.asyncify_stop_rewind();
                this.#rewinding = false;
                const { value, error } = this.#waiting;
                this.#waiting = null;
                if (error) throw error;
                return value;
            }
            const result = act(...args);
            if (!(result instanceof Promise)) return result;
            this.#waiting = { promise: result };
            this.#exports.asyncify_start_unwind(this.#data);
            return 0;
        };
    }

    ready(exports, memory) {
        this.#exports = exports;
        this.#data = exports.solo_alloc(UNWIND_BYTES);
        new Int32Array(memory.buffer).set([this.#data + 8, this.#data + UNWIND_BYTES], this.#data / 4);
        this.stack = this.#data + 8;
    }

    async call(name, ...args) {
        let result = this.#exports[name](...args);
        while (this.#waiting) {
            this.#exports.asyncify_stop_unwind();
            const { promise } = this.#waiting;
            this.#waiting = await promise.then((value) => ({ value }), (error) => ({ error }));
            this.#exports.asyncify_start_rewind(this.#data);
            this.#rewinding = true;
            result = this.#exports[name](...args);
        }
        return result;
    }
}

class Jspi {
    #calls = {};
    #exports;
    wrap = (act) => new WebAssembly.Suspending(act);
    ready = (exports) => (this.#exports = exports);
    call(name, ...args) {
        this.#calls[name] ??= WebAssembly.promising(this.#exports[name]);
        return this.#calls[name](...args);
    }
}

/** What of WASI is used: clocks, the environment, messages. Files are not there. */
function wasi(module, memory, environment, log) {
    const OK = 0, BADF = 8, NOSYS = 52;
    const view = () => new DataView(memory().buffer);
    const variables = Object.entries(environment).map(([name, value]) => new TextEncoder().encode(`${name}=${value}\0`));
    const known = {
        clock_time_get(id, _, out) {
            const ms = id === 0 ? Date.now() : performance.now();
            view().setBigUint64(out, BigInt(Math.round(ms * 1e6)), true);
            return OK;
        },
        environ_sizes_get(count, bytes) {
            view().setUint32(count, variables.length, true);
            view().setUint32(bytes, variables.reduce((sum, text) => sum + text.length, 0), true);
            return OK;
        },
        environ_get(list, bytes) {
            for (const text of variables) {
                view().setUint32(list, bytes, true);
                new Uint8Array(memory().buffer).set(text, bytes);
                list += 4;
                bytes += text.length;
            }
            return OK;
        },
        fd_write(fd, parts, count, written) {
            let text = "", bytes = 0;
            for (let i = 0; i < count; i++) {
                const at = view().getUint32(parts + 8 * i, true), length = view().getUint32(parts + 8 * i + 4, true);
                text += new TextDecoder().decode(new Uint8Array(memory().buffer, at, length).slice());
                bytes += length;
            }
            log(text);
            view().setUint32(written, bytes, true);
            return OK;
        },
        fd_prestat_get: () => BADF,
        proc_exit(code) {
            throw new Error(`the program ended with status ${code}`);
        },
    };
    const names = WebAssembly.Module.imports(module).filter((i) => i.module === "wasi_snapshot_preview1").map((i) => i.name);
    return Object.fromEntries(names.map((name) => [name, known[name] ?? (() => NOSYS)]));
}

/**
 * @param module a compiled WebAssembly.Module
 * @param makeImports ({ memory, text }) => { name: { suspending, immediate } }, the imports besides WASI's
 */
export async function instantiate(module, makeImports, { environment = {}, log = () => {} } = {}) {
    const suspender = WebAssembly.Module.exports(module).some((e) => e.name === "asyncify_start_unwind") ? new Asyncify() : new Jspi();
    let exports = null;
    const memory = () => exports.memory;
    const bytes = (at, length) => new Uint8Array(memory().buffer, at >>> 0, length);
    const text = {
        /** C's string. */
        read(at) {
            const all = new Uint8Array(memory().buffer);
            at >>>= 0;
            return new TextDecoder().decode(all.slice(at, all.indexOf(0, at)));
        },
        /** Into C's memory, with a zero behind it; cut off where there is no room. */
        write(at, room, value) {
            const { written } = new TextEncoder().encodeInto(value, bytes(at, room - 1));
            bytes(at, room)[written] = 0;
        },
    };
    const imports = { wasi_snapshot_preview1: wasi(module, memory, environment, log) };
    for (const [name, { suspending, immediate }] of Object.entries(makeImports({ memory, text, bytes }))) {
        const wrapped = Object.entries(suspending).map(([key, act]) => [key, suspender.wrap(act)]);
        imports[name] = { ...immediate, ...Object.fromEntries(wrapped) };
    }
    exports = (await WebAssembly.instantiate(module, imports)).exports;
    exports._initialize?.();
    suspender.ready(exports, exports.memory);

    /** Runs `act` with texts as C strings. */
    async function withTexts(texts, act) {
        const places = texts.map((value) => {
            const encoded = new TextEncoder().encode(`${value}`.replaceAll("\0", "\ufffd") + "\0"), at = exports.solo_alloc(encoded.length);
            if (!at) throw new Error("out of memory");
            bytes(at, encoded.length).set(encoded);
            return at;
        });
        try {
            return await act(...places);
        } finally {
            for (const at of places) exports.solo_free(at);
        }
    }
    return { exports, memory, bytes, text, withTexts, call: (name, ...args) => suspender.call(name, ...args) };
}
