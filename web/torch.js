// Programs of PyTorch: .pt2 files that torch.export wrote, run as one dispatch or as many (docs/torch.md).
//
// In a page Solo.openProgram does this. In a worker, Node or Deno:
//
//     const torch = await Torch.create({ gpu });
//     await torch.open();
//     const program = await torch.load(source);
//     const { y } = await torch.run(program.number, { x: new Float32Array(16) });
import { adapterNumber, LEVELS, placeOf, Program } from "./program.js";

const PIECE_BYTES = 16 << 20; // of a file at a time
const MOST_BYTES = 2 ** 31 - 1; // of a file: wasm has 4 GB for everything
const FLOATS = ["float16", "float32", "float64", "bfloat16"];
const isFloat = ({ type }) => FLOATS.includes(type);
const countOf = ({ shape }) => shape.reduce((product, size) => product * size, 1);
const describe = (port) => `${port.name} (${port.type} ${port.shape.join("x") || "scalar"})`;

/** Numbers in whatever form, as 32-bit words: floats, or integers. */
function wordsOf(port, given) {
    const flat = ArrayBuffer.isView(given) ? given : [given].flat(Infinity), Words = isFloat(port) ? Float32Array : Int32Array;
    if (flat.length !== countOf(port)) throw new TypeError(`${describe(port)} takes ${countOf(port)} numbers, not ${flat.length}`);
    const words = Words.from(flat, Number), lost = isFloat(port) ? -1 : words.findIndex((word, i) => word !== Number(flat[i]));
    if (lost >= 0) throw new TypeError(`${describe(port)}: ${flat[lost]} is no integer of 32 bits`);
    if (isFloat(port) && Array.prototype.some.call(flat, (value) => Number.isNaN(Number(value)))) throw new TypeError(`${describe(port)} takes numbers`);
    return words;
}

export class Torch extends Program {
    #programs = new Map(); // by number: where C has it, and what it says of it
    #count = 0;

    /** @param options those of Program.start */
    static create(options = {}) {
        return new Torch().start("solo-torch", options);
    }

    open({ adapter = "any" } = {}) {
        return this.next(async () => {
            await this.#forgetAll();
            return this.ask("torch_open", adapterNumber(adapter));
        });
    }

    /** Before their device is closed. */
    async #forgetAll() {
        for (const { at } of this.#programs.values()) await this.call("torch_forget", at);
        this.#programs.clear();
    }

    /** The whole file, in C's memory. */
    async #bring({ name, size, read }, onProgress) {
        const { exports, bytes } = this.wasm;
        if (size > MOST_BYTES) throw new Error(`${name}: a page reads programs of up to 2 GB`);
        const at = exports.solo_alloc(Math.max(size, 1)) >>> 0;
        if (!at) throw new Error(`${name}: out of memory`);
        try {
            for (let done = 0; done < size; done += PIECE_BYTES) {
                const piece = await read(done, Math.min(PIECE_BYTES, size - done));
                bytes(at + done, piece.length).set(piece);
                onProgress({ what: "loading the program", done: done + piece.length, total: size });
            }
            return at;
        } catch (error) {
            exports.solo_free(at);
            throw error;
        }
    }

    /**
     * @param source { name, size, read(offset, length) => Promise<Uint8Array> }
     * @returns what is known of it: its number, level, dispatches, inputs, outputs and states
     */
    load(source, { level = "auto", onProgress = () => {} } = {}) {
        return this.next(async () => {
            const wanted = placeOf(LEVELS, level, "level"), { exports, bytes } = this.wasm, file = await this.#bring(source, onProgress);
            const at = (await this.wasm.withTexts([source.name], (name) => this.call("torch_load", name, file, source.size, wanted))) >>> 0;
            const said = new TextDecoder().decode(bytes(exports.solo_said(), exports.solo_said_bytes()).slice());
            if (!at) throw new Error(said);
            const number = ++this.#count, program = { number, ...JSON.parse(said) };
            this.#programs.set(number, { at, program });
            return program;
        });
    }

    #find(number) {
        const found = this.#programs.get(number);
        if (!found) throw new TypeError("this program was closed");
        return found;
    }

    /** Room for a port's elements in C's memory while `act` runs. */
    async #withWords(port, act) {
        const { exports } = this.wasm, count = countOf(port), at = exports.solo_alloc(4 * count) >>> 0;
        if (!at) throw new Error("out of memory");
        try {
            return await act(at, () => new (isFloat(port) ? Float32Array : Int32Array)(this.wasm.memory().buffer, at, count));
        } finally {
            if (!this.dead) exports.solo_free(at);
        }
    }

    /**
     * A run. States are as the last one left them.
     * @param inputs by name; one that is missing gets random numbers, if there is a `seed`: those of `solo run --seed`
     * @returns the outputs by name, each { type, shape, data }
     */
    run(number, inputs = {}, { seed } = {}) {
        return this.next(async () => {
            const { at, program } = this.#find(number), { exports } = this.wasm, outputs = {};
            const unknown = Object.keys(inputs).find((name) => !program.inputs.some((port) => port.name === name));
            if (unknown !== undefined) throw new TypeError(`there is no input ${unknown}: the inputs are ${program.inputs.map(describe).join(", ") || "none"}`);
            const missing = seed === undefined && program.inputs.find(({ name }) => inputs[name] === undefined);
            if (missing) throw new TypeError(`the input ${describe(missing)} is missing`);
            const given = program.inputs.map((port) => (inputs[port.name] === undefined ? null : wordsOf(port, inputs[port.name])));
            for (const [i, port] of program.inputs.entries())
                await this.#withWords(port, (words, view) => {
                    if (given[i]) view().set(given[i]);
                    else exports.torch_fill(at, i, seed >>> 0, words);
                    return this.ask("torch_write", at, i, words);
                });
            await this.ask("torch_run", at);
            for (const [i, port] of program.outputs.entries())
                await this.#withWords(port, async (words, view) => {
                    await this.ask("torch_read", at, i, words);
                    outputs[port.name] = { type: port.type, shape: port.shape, data: view().slice() };
                });
            return outputs;
        });
    }

    /** States begin anew, as the file has them. */
    reset(number) {
        return this.next(() => this.ask("torch_begin", this.#find(number).at));
    }

    forget(number) {
        return this.next(async () => {
            const found = this.#programs.get(number);
            this.#programs.delete(number);
            if (found && !this.dead) await this.call("torch_forget", found.at);
        });
    }

    /** Loses the device on purpose; for tests. */
    lose() {
        return this.next(() => this.call("torch_lose"));
    }

    close() {
        return this.next(async () => {
            if (this.dead) return;
            await this.#forgetAll();
            await this.call("torch_close");
        });
    }
}
