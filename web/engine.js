// A device, a model on it, answers and measurements: Solo's C (src/web/solo.c) as an object.
//
// It runs wherever there is WebGPU: in a worker of a page (worker.js), in Node, in Deno. One thing at
// a time: calls wait for those before them, but for stop().
import { adapterNumber, fetchBeside, LEVELS, nothingElse, placeOf, Program, signed } from "./program.js";
import { Templates } from "./template.js";

export const SUBMITS = ["auto", "sync", "each", "pass", "batch"];
const ROLES = ["system", "user", "assistant"];

/** A model's file that is all in memory: the built-in one. */
export async function builtinSource() {
    const bytes = new Uint8Array(await (await fetchBeside("builtin.gguf")).arrayBuffer());
    return { name: "the built-in model", size: bytes.length, read: async (offset, length) => bytes.subarray(offset, offset + length) };
}

const bitsOf = (names, list, what) => list.reduce((bits, name) => bits | (1 << placeOf(names, name, what)), 0);
const HEARD_MS = 300; // so long may C take to end an answer; what the GPU was given is finished before the next one
/** Of an answer that was stopped before it began. */
const NOT_STARTED = { end: "interrupted", prompt_tokens: 0, reused_tokens: 0, tokens: 0, forgotten_messages: 0, dispatches_per_token: 0, level: null, notice: null, first_token_s: null, tokens_per_s: 0 };

export class Engine extends Program {
    #source = null;
    #compiling = null; // the load whose best level compiles, or has compiled: { made: a promise of the model then }
    #improved = Promise.resolve(null);
    #why = "";
    #onText = () => {};
    #decoder = new TextDecoder();
    #templates = new Templates();

    /** @param options those of Program.start */
    static create(options = {}) {
        const engine = new Engine();
        return engine.start("solo", options, (text, bytes) => engine.#pageImports(text, bytes));
    }

    #pageImports(text, bytes) {
        return {
            suspending: {
                read_file: async (offset, to, length) => {
                    try {
                        const read = await this.#source.read(offset, length);
                        if (read.length !== length) throw new Error("the file is shorter than it was");
                        bytes(to, length).set(read);
                        return 1;
                    } catch (error) {
                        this.#why = error.message;
                        return 0;
                    }
                },
                template_open: async (at, length) => {
                    try {
                        return await this.#templates.open(bytes(at, length).slice());
                    } catch (error) {
                        this.#why = error.message;
                        return 0;
                    }
                },
            },
            immediate: {
                template_close: (template) => this.#templates.close(template),
                template_render: (template, at, length, ask, think) => {
                    try {
                        return this.#templates.render(template, bytes(at, length), ask, think);
                    } catch (error) {
                        this.#why = error.message;
                        return -1;
                    }
                },
                template_take: (to, plain) => this.#templates.take((made, marks) => {
                    bytes(to, made.length).set(made);
                    bytes(plain, marks.length).set(marks);
                }),
                why: (out, room) => text.write(out, room, this.#why),
                answer: (at, length) => this.#onText(this.#decoder.decode(bytes(at, length).slice(), { stream: true })),
            },
        };
    }

    /** @returns what the device is and can do */
    open({ adapter = "any" } = {}) {
        return this.next(() => this.ask("solo_open", adapterNumber(adapter)));
    }

    /** @param source { name, size, read(offset, length) => Promise<Uint8Array> } */
    load(source, { level, allLevels = false, context = 0, soon = (level || "auto") === "auto" && !allLevels, onProgress = () => {} } = {}) {
        return this.next(() => this.wasm.withTexts([source.name], async (name) => {
            this.#source = source;
            this.onProgress = onProgress;
            const wanted = placeOf(LEVELS, level || "auto", "level");
            const model = await this.ask("solo_load", name, source.size, wanted, Number(allLevels), context, Number(soon));
            const compiling = (this.#compiling = model.improving ? { made: null } : null);
            this.#improved = compiling ? this.madeAhead().then(() => this.next(() => this.#finish(compiling))) : Promise.resolve(null);
            return model;
        }));
    }

    /** One dispatch takes some drivers seconds to compile: answers are made by more of them until then. */
    async #finish(compiling) {
        if (!compiling || compiling !== this.#compiling) return null;
        return (compiling.made ??= this.ask("solo_improve").catch(() => null)); // an error here comes again with the next call
    }

    /** @returns a promise of the model when its best level is there; null: it was from the beginning, or another one is loaded by now */
    get improved() {
        return this.#improved;
    }

    /** From the next answer on; of those levels that were made ("auto": the highest). */
    setLevel(level) {
        return this.next(() => this.ask("solo_set_level", placeOf(LEVELS, level, "level")));
    }

    /**
     * An answer to `messages`, or what follows `prompt`, piece by piece to `onText`, until `signal` is aborted.
     * @returns how it ended, and what it took
     */
    answer({ messages, prompt, maxTokens = 0, temperature = 0, topK = 0, topP = 1, minP = 0, repeatPenalty = 1, seed = 0, stop = [], keepAll = false, signal, onText = () => {} }) {
        let started = false;
        const interrupt = () => this.stop();
        const mine = this.next(async () => {
            if (signal?.aborted) return NOT_STARTED;
            started = true;
            signal?.addEventListener("abort", interrupt);
            const { exports } = this.wasm, turns = messages ?? [{ role: "user", content: prompt }];
            const wrong = turns.find(({ role }) => !ROLES.includes(role));
            if (wrong) throw new Error(`messages have the roles ${ROLES.join(", ")}, not "${wrong.role}"`);
            this.#onText = onText;
            this.#decoder = new TextDecoder();
            await this.ask("solo_begin", Number(messages !== undefined));
            await this.call("solo_set_sampling", temperature, topK, topP, minP, repeatPenalty, seed >>> 0);
            for (const { role, content } of turns)
                await this.wasm.withTexts([content], (at) => exports.solo_add_message(ROLES.indexOf(role), at));
            for (const text of [stop].flat()) await this.wasm.withTexts([text], (at) => exports.solo_add_stop(at));
            const began = performance.now();
            let first = 0;
            this.#onText = (text) => {
                first ||= performance.now();
                onText(text);
            };
            const report = await this.ask("solo_answer", maxTokens, Number(keepAll));
            return { ...report, first_token_s: first ? (first - began) / 1000 : null };
        }).finally(() => signal?.removeEventListener("abort", interrupt));
        if (!signal) return mine;
        // while others are before it there is nothing to be stopped; while a long prompt is read, the GPU has its work already
        const early = new Promise((end) => signal.addEventListener("abort", () => setTimeout(() => end(NOT_STARTED), started ? HEARD_MS : 0), { once: true }));
        return Promise.race([mine, early]);
    }

    /** Ends the answer that is being made. */
    stop() {
        if (this.dead) return;
        const at = this.wasm.exports.solo_interrupted();
        new Int32Array(this.wasm.memory().buffer)[at >>> 2] = 1;
    }

    /** When nothing is made in the background any more. */
    #undisturbed(act) {
        return this.next(async () => {
            await this.madeAhead();
            await this.#finish(this.#compiling);
            return act();
        });
    }

    /** What a dispatch costs here: a record. */
    benchDispatch({ quick = true, rounds = 0, processes = 0, seed = 1, onProgress = () => {}, ...others } = {}) {
        return this.#undisturbed(async () => {
            nothingElse(others);
            this.onProgress = onProgress;
            return signed(await this.ask("solo_bench_dispatch", Number(quick), rounds, processes, seed));
        });
    }

    /** How fast the loaded model is, in more and in fewer dispatches: a record. */
    benchLlm({ levels = LEVELS.slice(1), submits = ["batch"], prompt = 0, tokens = 32, depth = 32, repetitions = 3, seed = 1, onProgress = () => {}, ...others } = {}) {
        return this.#undisturbed(async () => {
            nothingElse(others);
            this.onProgress = onProgress;
            const args = [bitsOf(LEVELS, levels, "level"), bitsOf(SUBMITS, submits, "way to submit"), prompt, tokens, depth, repetitions, seed];
            return signed(await this.ask("solo_bench_llm", ...args));
        });
    }

    /** Loses the device on purpose; for tests. */
    lose() {
        return this.next(() => this.call("solo_lose"));
    }

    close() {
        return this.next(() => this.dead ? undefined : this.call("solo_close"));
    }
}
