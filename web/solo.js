// Solo in a page: a language model on the visitor's own GPU, in a worker.
//
//     import { Solo } from "./solo.js";
//     const solo = await Solo.load();                       // the built-in model; { model: file or URL } for another
//     const stream = await solo.chat.completions.create({ messages: [{ role: "user", content: "Hello" }], stream: true });
//     for await (const chunk of stream) show(chunk.choices[0].delta.content ?? "");
//
// The shapes are OpenAI's. Without workers that have WebGPU (Node, Deno) it runs in place: pass { gpu } where
// navigator.gpu is missing. In a service worker, import in-place.js.

class SoloError extends Error {
    constructor({ message, cancelled = false, noGpu = false, kept = false, dead = false, usage = false }) {
        super(message);
        Object.assign(this, { cancelled, noGpu, kept, usage, lost: dead || /device lost/.test(message) });
    }
}

const ended = () => new SoloError({ message: "ended", cancelled: true });

/**
 * A worker with the service. Browsers start workers only from the page's own origin; from a CDN, one made here imports
 * it. Bundlers know the first form.
 */
function startWorker(base) {
    if (!base && new URL(import.meta.url).origin === location.origin) return new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    const worker = new URL("worker.js", new URL(base ?? import.meta.url, location.href));
    if (worker.origin === location.origin) return new Worker(worker, { type: "module" });
    const here = URL.createObjectURL(new Blob([`import ${JSON.stringify(worker.href)};`], { type: "text/javascript" }));
    const started = new Worker(here, { type: "module" });
    started.addEventListener("message", () => URL.revokeObjectURL(here), { once: true }); // not before it has read it
    return started;
}

/** A service in a worker. */
class Remote {
    #worker;
    #calls = new Map();
    #count = 0;
    #over = null; // the error of all later calls

    constructor(base) {
        this.#worker = startWorker(base);
        this.#worker.onmessage = ({ data: { id, result, error, event } }) => {
            const call = this.#calls.get(id);
            if (event) return call?.onEvent(event);
            this.#calls.delete(id);
            if (error) call?.reject(new SoloError(error));
            else call?.resolve(result);
        };
        this.#worker.onerror = (event) => {
            this.#end(new SoloError({ message: `the worker failed: ${event.message || "it could not be started"}` }));
        };
    }

    call(name, args, onEvent = () => {}) {
        return new Promise((resolve, reject) => {
            if (this.#over) return reject(this.#over);
            const id = ++this.#count;
            this.#calls.set(id, { resolve, reject, onEvent });
            this.#worker.postMessage({ id, name, args });
        });
    }

    #end(error) {
        this.#over = error;
        this.#worker.terminate();
        for (const { reject } of this.#calls.values()) reject(error);
        this.#calls.clear();
    }

    end() {
        this.#end(ended());
    }
}

let fetchService = () => import("./service.js");

/** Where import() is refused, in service workers: what would be imported (in-place.js). */
export const provideService = (module) => (fetchService = async () => module);

/** A service right here. */
class Local {
    #service = fetchService().then(({ Service }) => new Service());
    #over = false;

    async call(name, args, onEvent = () => {}) {
        if (this.#over) throw ended();
        let thrown = null; // by the caller's own function: it must not pass through the program
        const emit = (event) => {
            try {
                onEvent(event);
            } catch (error) {
                thrown ??= { error };
            }
        };
        try {
            const result = await (await this.#service).call(name, args, emit);
            if (thrown) throw thrown.error;
            return result;
        } catch (error) {
            if (error instanceof SoloError) throw error;
            const { message, cancelled, noGpu, kept, dead } = error;
            throw new SoloError({ message, cancelled, noGpu, kept, dead, usage: error.usage || error instanceof TypeError });
        }
    }

    /** Stops work in progress, then releases the device. */
    end() {
        if (this.#over) return;
        this.#over = true;
        this.#service.then(async (service) => {
            await service.call("stop");
            await service.call("cancelLoad");
            await service.call("close");
        }).catch(() => {});
    }
}

/** What comes piece by piece, for `for await`. */
class Pieces {
    #waiting = [];
    #wake = () => {};
    #over = false;
    #error = null;

    add(piece) {
        this.#waiting.push(piece);
        this.#wake();
    }

    end(error = null) {
        this.#over = true;
        this.#error = error;
        this.#wake();
    }

    async *read() {
        for (;;) {
            while (this.#waiting.length) yield this.#waiting.shift();
            if (this.#error) throw this.#error;
            if (this.#over) return;
            await new Promise((wake) => (this.#wake = wake));
        }
    }
}

/** A message's content: a text, or parts that are texts. */
function textOf(content) {
    if (typeof content === "string") return content;
    if (!Array.isArray(content) || content.some((part) => typeof part?.text !== "string")) throw new TypeError("a message's content is a string, or parts with a text each");
    return content.map((part) => part.text).join("");
}

/** What is not known is refused; `null` and what changes nothing are no request. */
function refuseOthers(others, where = "") {
    for (const [name, value] of Object.entries(others)) if (value != null && !(name === "n" && value === 1)) throw new TypeError(`${where}${name} is not supported here`);
}

/** The numbers of a request: the largest, and 1 where they are whole. */
const NUMBERS = { max_tokens: [2 ** 32 - 1, 1], max_completion_tokens: [2 ** 32 - 1, 1], temperature: [1000], top_k: [2 ** 32 - 1, 1], top_p: [1], min_p: [1], repeat_penalty: [1000], seed: [2 ** 53, 1] };

function checkNumbers(given) {
    for (const [name, [most, step]] of Object.entries(NUMBERS)) {
        const value = given[name] ?? 0;
        if (typeof value !== "number" || !(value >= 0 && value <= most) || value % step) throw new TypeError(`${name} is a ${step ? "whole " : ""}number from 0 to ${most}`);
    }
}

function messageOf(message, i) {
    const { role, content, ...others } = message ?? {};
    refuseOthers(others, `messages[${i}].`);
    return { role, content: textOf(content) };
}

function toRequest({ messages, prompt, max_tokens, max_completion_tokens, temperature, top_k, top_p, min_p, repeat_penalty, seed, stop, on_full, model, ...others }) {
    refuseOthers(others);
    if ([stop ?? []].flat().some((text) => typeof text !== "string")) throw new TypeError("stop is a string, or several");
    if (![undefined, null, "forget", "stop"].includes(on_full)) throw new TypeError('on_full is "forget" or "stop"');
    return { messages: messages?.map(messageOf), prompt, maxTokens: max_completion_tokens ?? max_tokens ?? 0, temperature: temperature ?? 0.8, topK: top_k ?? 40, topP: top_p ?? 0.95, minP: min_p ?? 0,
        repeatPenalty: repeat_penalty ?? 1.1, seed: seed ?? Math.floor(Math.random() * 2 ** 32), stop: stop ?? [], keepAll: on_full === "stop" };
}

const finishReason = (end) => (end === "length" || end === "full" ? "length" : "stop");
const usageOf = (report) => ({ prompt_tokens: report.prompt_tokens, completion_tokens: report.tokens, total_tokens: report.prompt_tokens + report.tokens });

/** chat.completions or completions: they differ in where the text stands. */
class Completions {
    constructor(solo, kind) {
        Object.assign(this, { solo, kind });
    }

    #head(suffix) {
        const chat = this.kind === "chat";
        return {
            id: `${chat ? "chatcmpl" : "cmpl"}-${Date.now().toString(36)}${Math.random().toString(36).slice(2, 8)}`,
            object: chat ? `chat.completion${suffix}` : "text_completion",
            created: Math.floor(Date.now() / 1000),
            model: this.solo.model.name,
        };
    }

    async create({ stream, stream_options, signal, ...rest } = {}) {
        const chat = this.kind === "chat";
        if (![undefined, null, true, false].includes(stream)) throw new TypeError("stream is true or false");
        if (signal && !signal.throwIfAborted) throw new TypeError("signal is an AbortSignal");
        checkNumbers(rest);
        if (chat !== (rest.messages !== undefined)) throw new TypeError(chat ? "chat.completions.create needs messages" : "completions.create needs a prompt");
        if (chat ? !Array.isArray(rest.messages) : typeof rest.prompt !== "string") throw new TypeError(chat ? "messages are an array" : "a prompt is one string");
        if (!this.solo.model) throw new Error("no model is loaded: loadModel comes first");
        if (stream_options && !stream) throw new TypeError("stream_options belong to stream: true");
        const { include_usage, ...others } = stream_options ?? {};
        refuseOthers(others, "stream_options.");
        const request = toRequest(rest);
        return stream ? this.#stream(request, signal, include_usage) : this.#whole(request, signal);
    }

    async #whole(request, signal) {
        let text = "";
        const report = await this.solo.answer(request, (piece) => (text += piece), signal);
        const choice = { index: 0, finish_reason: finishReason(report.end), logprobs: null };
        return {
            ...this.#head(""),
            choices: [this.kind === "chat" ? { ...choice, message: { role: "assistant", content: text } } : { ...choice, text }],
            usage: usageOf(report),
            solo: report,
        };
    }

    /** @param usage true: in a chunk of its own, the last; false: nowhere; not said: in the chunk that ends the text */
    async *#stream(request, signal, usage) {
        const head = this.#head(".chunk"), chat = this.kind === "chat", pieces = new Pieces();
        const chunk = (text, finish_reason = null, more = {}) => ({
            ...head, ...more, choices: [chat ? { index: 0, delta: text === null ? {} : { content: text }, finish_reason } : { index: 0, text: text ?? "", finish_reason }],
        });
        const leaving = new AbortController(), leave = () => leaving.abort();
        let report = null;
        signal?.throwIfAborted();
        signal?.addEventListener("abort", leave);
        const running = this.solo.answer(request, (text) => pieces.add(text), leaving.signal)
            .then((done) => { report = done; pieces.end(); }, (error) => pieces.end(error));
        try {
            if (chat) yield { ...head, choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }] };
            for await (const text of pieces.read()) yield chunk(text);
            yield chunk(null, finishReason(report.end), { ...(usage === undefined ? { usage: usageOf(report) } : {}), solo: report });
            if (usage) yield { ...head, choices: [], usage: usageOf(report) };
        } finally {
            leave(); // the caller may have stopped iterating early
            signal?.removeEventListener("abort", leave);
            await running;
        }
    }
}

export class Solo {
    #service;
    #answers = 0; // each has its number
    #loads = 0; // so has each load
    info = null; // the device
    model = null; // what is loaded
    improved = Promise.resolve(null); // the same, when the best level for it is there

    constructor(service) {
        this.#service = service;
        this.chat = { completions: new Completions(this, "chat") };
        this.completions = new Completions(this, "text");
        this.models = {
            list: () => service.call("models"),
            delete: (key) => service.call("deleteModel", { key }),
        };
    }

    /**
     * Opens a device, without a model; `builtin`: the built-in one may be fetched meanwhile; `base`: where the files of this
     * module lie, if not beside it.
     */
    static async open({ adapter, environment, jspi, gpu, base, builtin = false, ...others } = {}) {
        refuseOthers(others);
        const inPlace = gpu !== undefined || typeof Worker === "undefined" || typeof document === "undefined";
        const solo = new Solo(inPlace ? new Local() : new Remote(base));
        try {
            solo.info = await solo.#service.call("open", { adapter, environment, jspi, builtin, ...(base ? { base: new URL(base, globalThis.location?.href).href } : {}), ...(gpu ? { gpu } : {}) });
        } catch (error) {
            solo.#service.end();
            throw error;
        }
        return solo;
    }

    /** Opens a device and loads a model: nothing for the built-in one, a File, a URL, or { kept: key } of models.list(). */
    static async load({ model, sha256, level, allLevels, context, soon, onProgress, ...options } = {}) {
        const solo = await Solo.open({ ...options, builtin: !model });
        try {
            await solo.loadModel({ model, sha256, level, allLevels, context, soon, onProgress });
        } catch (error) {
            solo.end();
            throw error;
        }
        return solo;
    }

    async loadModel({ model, sha256, level, allLevels, context, soon, onProgress = () => {}, ...others } = {}) {
        refuseOthers(others);
        const wanted = model instanceof URL ? model.href : model;
        if (context !== undefined && !Number.isSafeInteger(context)) throw new TypeError("context is a whole number of tokens");
        try {
            this.#take(await this.#service.call("load", { model: wanted, sha256, level, allLevels, context, soon }, ({ progress }) => onProgress(progress)));
        } catch (error) {
            if (!error.kept) this.model = null;
            throw error;
        }
        return this.model;
    }

    /** A loaded model. Its best level may still be compiling; answers do not wait. */
    #take(model) {
        const load = ++this.#loads;
        this.model = model;
        this.improved = !model?.improving ? Promise.resolve(model) : this.#service.call("improved").catch(() => null).then((better) => {
            if (load === this.#loads && this.model) this.model = { ...this.model, improving: false, ...better };
            return this.model;
        });
    }

    /** After the device was lost: a new one, and the same model on it. */
    async recover({ onProgress = () => {} } = {}) {
        this.model = null;
        const { info, model } = await this.#service.call("recover", {}, ({ progress }) => onProgress(progress));
        this.info = info;
        this.#take(model);
        return this.model;
    }

    async setLevel(level) {
        this.model = { ...this.model, ...(await this.#service.call("setLevel", { level })) };
        return this.model;
    }

    /** The plain form of what chat.completions and completions do. */
    async answer(request, onText, signal) {
        const call = ++this.#answers, stop = () => this.#service.call("stop", { call }).catch(() => {});
        signal?.throwIfAborted();
        signal?.addEventListener("abort", stop);
        try {
            return await this.#service.call("answer", { ...request, call }, ({ text }) => onText(text));
        } finally {
            signal?.removeEventListener("abort", stop);
        }
    }

    /** Ends all answers; an answer's signal ends that one. */
    stop() {
        return this.#service.call("stop");
    }

    /** Gives up the model that is being loaded. */
    cancelLoad() {
        return this.#service.call("cancelLoad");
    }

    /**
     * A simulation: WGSL, or the name of a built-in one (docs/sim.md). Its program is fetched by the first call.
     *
     *     const { scores } = await solo.simulate("cartpole", { population: 4096, fuse: "loop" });
     */
    simulate(source, { onProgress = () => {}, ...options } = {}) {
        if (typeof source !== "string") return Promise.reject(new TypeError("a simulation is a text of WGSL, or the name of a built-in one"));
        return this.#service.call("simulate", { source, ...options }, ({ progress }) => onProgress(progress));
    }

    /**
     * A simulation that runs again and again, as a moving picture needs it: it is compiled once.
     *
     *     const galaxy = await solo.prepareSimulation(wgsl, { population: 4096, steps: 100 });
     *     const { states } = await galaxy.run({ genomes, fuse: "loop" });
     */
    async prepareSimulation(source, options = {}) {
        if (typeof source !== "string") throw new TypeError("a simulation is a text of WGSL, or the name of a built-in one");
        const number = await this.#service.call("prepareSimulation", { source, ...options });
        return {
            run: ({ genomes, fuse } = {}) => this.#service.call("runSimulation", { number, genomes, fuse }),
            close: () => this.#service.call("closeSimulation", { number }),
        };
    }

    /**
     * A program of PyTorch: a .pt2 file as a Blob, or its URL (docs/torch.md). What runs it is fetched by the first one.
     *
     *     const program = await solo.openProgram(file);
     *     const { y } = await program.run({ x: new Float32Array(16) });
     */
    async openProgram(file, { level, onProgress = () => {}, ...others } = {}) {
        refuseOthers(others);
        if (!(file instanceof Blob || file instanceof URL || typeof file === "string")) throw new TypeError("a program is a Blob or a URL");
        const { number, ...known } = await this.#service.call("openProgram", { file: file instanceof URL ? file.href : file, level }, ({ progress }) => onProgress(progress));
        return {
            ...known,
            run: (inputs = {}, { seed } = {}) => this.#service.call("runProgram", { number, inputs, seed }),
            reset: () => this.#service.call("resetProgram", { number }),
            close: () => this.#service.call("closeProgram", { number }),
        };
    }

    benchDispatch({ onProgress = () => {}, ...options } = {}) {
        return this.#service.call("benchDispatch", options, ({ progress }) => onProgress(progress));
    }

    benchLlm({ onProgress = () => {}, ...options } = {}) {
        return this.#service.call("benchLlm", options, ({ progress }) => onProgress(progress));
    }

    benchDecoder({ onProgress = () => {}, ...options } = {}) {
        return this.#service.call("benchDecoder", options, ({ progress }) => onProgress(progress));
    }

    /** Loses the device on purpose; for tests. */
    loseDevice() {
        return this.#service.call("lose");
    }

    /** At once, whatever is in progress. */
    end() {
        this.#service.end();
    }

    async close() {
        await this.#service.call("close").catch(() => {});
        this.#service.end();
    }
}
