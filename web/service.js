// What a page asks its worker for, by name: an engine, models for it, and what is kept between visits.
import { Engine, builtinSource } from "./engine.js";
import { findFilesAt } from "./program.js";
import { Simulator } from "./sim.js";
import { Torch } from "./torch.js";
import { blobSource, Cancelled, deleteKept, fileSource, keptSource, listKept, urlSource } from "./models.js";

const MEMORY_FILE = "solo-memory.json";

/** What was found out about this device, in the browser's private file system. */
async function openMemory() {
    const root = await globalThis.navigator?.storage?.getDirectory?.().catch(() => null);
    const kept = new Map();
    try {
        const file = await (await root.getFileHandle(MEMORY_FILE)).getFile();
        for (const [key, value] of JSON.parse(await file.text())) kept.set(key, value);
    } catch {} // the first visit, or no place to keep anything
    const save = async () => {
        const handle = await (await root.getFileHandle(MEMORY_FILE, { create: true })).createSyncAccessHandle();
        handle.truncate(0);
        handle.write(new TextEncoder().encode(JSON.stringify([...kept])), { at: 0 });
        handle.close();
    };
    return {
        get: (key) => kept.get(key),
        set(key, value) {
            kept.set(key, value);
            if (root) save().catch(() => {});
        },
    };
}

/** Relative addresses are relative to the page; what is none is for urlSource to refuse. */
const absolute = (address) => (URL.canParse(address, globalThis.location?.href) ? new URL(address, globalThis.location?.href).href : address);

export class Service {
    #engine = null;
    #simulator = null; // a promise of it, from its first use on
    #prepared = new Map(); // simulations that run again and again, by their numbers
    #preparations = 0;
    #torch = null; // a promise of it, likewise
    #programs = new Map(); // of PyTorch, by their numbers
    #programCount = 0;
    #options = {};
    #loaded = null; // how the model was asked for
    #cancel = null; // of a download
    #builtin = null; // the built-in model, on its way while the device is opened
    #answers = new Map(); // calls in progress, by their callers' numbers: how to stop them

    /** @param emit (event) => void, of the call at hand */
    async call(name, args, emit) {
        const act = this[`do_${name}`];
        if (!act) throw new Error(`there is nothing called "${name}"`);
        return act.call(this, args ?? {}, emit);
    }

    async do_open({ builtin = false, base, ...options }) {
        if (base) findFilesAt(base);
        if (builtin) (this.#builtin = builtinSource()).catch(() => {}); // its callers get the error
        this.#options = { ...this.#options, ...options };
        await this.#engine?.close().catch(() => {});
        const { adapter, environment, jspi, gpu } = this.#options;
        this.#engine = await Engine.create({ environment, jspi, memory: openMemory(), ...(gpu ? { gpu } : {}) });
        return this.#engine.open({ adapter });
    }

    async #source(model, options) {
        const coming = this.#builtin;
        this.#builtin = null;
        if (!model) return coming ?? builtinSource();
        if (model instanceof Blob) return fileSource(model);
        if (model.kept) return keptSource(model.kept);
        return urlSource(absolute(String(model.url ?? model)), options);
    }

    async do_load({ model, sha256, level, allLevels, context, soon }, emit) {
        if (this.#engine.dead) await this.do_open({});
        this.#cancel = new AbortController();
        const onProgress = (progress) => emit({ progress }), { signal } = this.#cancel;
        const source = await this.#source(model, { onProgress, signal, sha256 }).catch((error) => {
            throw Object.assign(error, { kept: true }); // the model that was here still is
        });
        const read = source.read;
        source.read = (...range) => (signal.aborted ? Promise.reject(new Cancelled()) : read(...range));
        try {
            const loaded = await this.#engine.load(source, { level, allLevels, context, soon, onProgress });
            this.#loaded = { model, sha256, level, allLevels, context, soon };
            return { ...loaded, file_bytes: source.size };
        } catch (error) {
            throw signal.aborted ? new Cancelled() : error;
        } finally {
            this.#cancel = null; // what is loaded stays readable, whatever is stopped later
        }
    }

    /** A lost device does not come back: a new one, with the same model. */
    async do_recover(_, emit) {
        const info = await this.do_open({});
        return { info, model: this.#loaded ? await this.do_load(this.#loaded, emit) : null };
    }

    async do_answer({ call, ...request }, emit) {
        const stopping = new AbortController();
        this.#answers.set(call, stopping);
        try {
            return await this.#engine.answer({ ...request, signal: stopping.signal, onText: (text) => emit({ text }) });
        } finally {
            this.#answers.delete(call);
        }
    }

    /** One answer, or all of them. */
    do_stop({ call }) {
        for (const [number, stopping] of this.#answers) if (call === undefined || number === call) stopping.abort();
    }

    do_cancelLoad() {
        this.#cancel?.abort();
    }

    do_improved() {
        return this.#engine.improved;
    }

    do_setLevel({ level }) {
        return this.#engine.setLevel(level);
    }

    do_benchDispatch(options, emit) {
        return this.#engine.benchDispatch({ ...options, onProgress: (progress) => emit({ progress }) });
    }

    do_benchLlm(options, emit) {
        return this.#engine.benchLlm({ ...options, onProgress: (progress) => emit({ progress }) });
    }

    do_benchDecoder(options, emit) {
        return this.#simulating((simulator) => simulator.benchDecoder({ ...options, onProgress: (progress) => emit({ progress }) }));
    }

    /** The wasm for simulations is fetched by the first, and has a device of its own. */
    async #openSimulator() {
        const { adapter, environment, jspi, gpu } = this.#options;
        const simulator = await Simulator.create({ environment, jspi, memory: await openMemory(), ...(gpu ? { gpu } : {}) });
        await simulator.open({ adapter });
        return simulator;
    }

    async #letSimulatorGo() {
        const simulator = this.#simulator;
        this.#simulator = null;
        await simulator?.then((gone) => gone.close()).catch(() => {});
    }

    /** Lets the simulator act; one that broke down is given up, and the next one begins anew. */
    async #simulating(act) {
        this.#simulator ??= this.#openSimulator();
        try {
            return await act(await this.#simulator);
        } catch (error) {
            const simulator = await this.#simulator?.catch(() => null);
            if (!simulator || simulator.dead || /device lost/.test(error.message)) await this.#letSimulatorGo();
            throw error;
        }
    }

    do_simulate({ source, ...options }, emit) {
        return this.#simulating((simulator) => simulator.simulate(source, { ...options, onProgress: (progress) => emit({ progress }) }));
    }

    /** @returns the number by which it is run */
    do_prepareSimulation({ source, ...options }) {
        return this.#simulating((simulator) => {
            const prepared = { of: simulator, it: simulator.prepare(source, options), source, options };
            this.#prepared.set(++this.#preparations, prepared);
            return this.#preparations;
        });
    }

    do_runSimulation({ number, ...how }) {
        return this.#simulating((simulator) => {
            const prepared = this.#prepared.get(number);
            if (!prepared) throw new TypeError("this simulation was closed");
            if (prepared.of !== simulator) Object.assign(prepared, { of: simulator, it: simulator.prepare(prepared.source, prepared.options) });
            return prepared.it.run(how);
        });
    }

    async do_closeSimulation({ number }) {
        const prepared = this.#prepared.get(number);
        this.#prepared.delete(number);
        await prepared?.it.close();
    }

    /** The wasm for PyTorch's programs comes with the first of them, and has its own device. A lost one takes them along. */
    async #withTorch(act) {
        this.#torch ??= this.#openTorch();
        const coming = this.#torch;
        try {
            return await act(await coming);
        } catch (error) {
            const torch = await coming.catch(() => null);
            if ((!torch || torch.dead || /device lost/.test(error.message)) && this.#torch === coming) {
                this.#torch = null;
                this.#programs.clear();
                await torch?.close().catch(() => {});
            }
            throw error;
        }
    }

    async #openTorch() {
        const { adapter, environment, jspi, gpu } = this.#options;
        const torch = await Torch.create({ environment, jspi, memory: await openMemory(), ...(gpu ? { gpu } : {}) });
        await torch.open({ adapter });
        return torch;
    }

    async #programSource(file) {
        if (file instanceof Blob) return blobSource(file, file.name ?? "program.pt2");
        const url = absolute(file), response = await fetch(url), name = url.split(/[/?#]/).filter((part) => part.endsWith(".pt2")).at(-1) ?? url.slice(0, 100);
        if (!response.ok) throw new Error(`${name}: ${response.status} ${response.statusText}`);
        return blobSource(await response.blob(), name);
    }

    /** @returns what is known of it, and the number by which it is run */
    do_openProgram({ file, level }, emit) {
        return this.#withTorch(async (torch) => {
            const program = await torch.load(await this.#programSource(file), { level, onProgress: (progress) => emit({ progress }) });
            this.#programs.set(++this.#programCount, program.number);
            return { ...program, number: this.#programCount };
        });
    }

    #withProgram(number, act) {
        const inside = this.#programs.get(number);
        if (inside === undefined) throw new TypeError("this program was closed, or its device was lost");
        return this.#withTorch((torch) => act(torch, inside));
    }

    do_runProgram({ number, inputs, seed }) {
        return this.#withProgram(number, (torch, inside) => torch.run(inside, inputs, { seed }));
    }

    do_resetProgram({ number }) {
        return this.#withProgram(number, (torch, inside) => torch.reset(inside));
    }

    async do_closeProgram({ number }) {
        if (!this.#programs.has(number)) return;
        await this.#withProgram(number, (torch, inside) => torch.forget(inside));
        this.#programs.delete(number);
    }

    /** Loses the device of the programs on purpose; for tests. */
    do_loseTorch = () => this.#withTorch((torch) => torch.lose());
    do_models = () => listKept();
    do_deleteModel = ({ key }) => deleteKept(key);
    do_lose = () => this.#engine.lose();
    async do_close() {
        await this.#letSimulatorGo();
        await this.#torch?.then((torch) => torch.close()).catch(() => {});
        await this.#engine?.close();
    }
}
