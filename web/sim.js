// Simulations: three functions in WGSL for many individuals, all steps in one dispatch or a dispatch for each (docs/sim.md).
//
// Solo.simulate of solo.js brings this into a page's worker. On its own, in a worker, Node or Deno, without anything of models:
//
//     const simulator = await Simulator.create({ gpu });
//     await simulator.open();
//     const { scores } = await simulator.simulate("cartpole", { population: 1000 });
import { adapterNumber, nothingElse, placeOf, Program, signed } from "./program.js";

const FUSIONS = ["loop", "none"];
const MOST_PARAMETERS = 64; // as in src/web/sim.c

function count(value, what) {
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) throw new TypeError(`${what} is a count, not ${value}`);
    return value;
}

/** Rows of numbers, as an array of arrays or as { values, columns }, one after the other. */
function tableOf(given, what) {
    if (!given) return { values: new Float32Array(0), rows: 0, columns: 0 };
    const rows = Array.isArray(given) ? given : null, columns = rows ? rows[0]?.length : given.columns;
    const uneven = rows ? rows.findIndex((row) => row.length !== columns) : -1;
    if (!columns || (!rows && (!given.values?.length || given.values.length % columns))) throw new TypeError(`${what}: an array of rows, or { values, columns } with whole rows`);
    if (uneven >= 0) throw new TypeError(`${what}: row ${uneven} has ${rows[uneven].length} numbers, row 0 has ${columns}`);
    const values = Float32Array.from(rows ? rows.flatMap((row) => [...row]) : given.values), bad = values.findIndex((value) => !Number.isFinite(value));
    if (bad >= 0) throw new TypeError(`${what}: what stands in row ${Math.floor(bad / columns)}, column ${bad % columns} is no finite number`);
    return { values, rows: values.length / columns, columns };
}

/** Genes of everyone, or the same for all. */
function genomesOf(given, population, genes) {
    if (!genes) throw new TypeError("the simulation has no genes");
    const flat = ArrayBuffer.isView(given) || typeof given[0] === "number" ? { values: given, columns: genes } : given;
    const { values, rows, columns } = tableOf(flat, "genomes");
    if (columns !== genes || (rows !== population && rows !== 1)) throw new TypeError(`genomes: ${rows} rows of ${columns}; there are ${population} individuals with ${genes} genes`);
    if (rows === population) return values;
    const all = new Float32Array(population * genes);
    for (let i = 0; i < population; i++) all.set(values, i * genes);
    return all;
}

function parametersOf(params) {
    const list = Object.entries(params);
    if (list.length > MOST_PARAMETERS) throw new TypeError(`more than ${MOST_PARAMETERS} parameters`);
    const wrong = list.find(([, value]) => typeof value !== "number");
    if (wrong) throw new TypeError(`parameter ${wrong[0]} is a number, not ${wrong[1]}`);
    return list.map(([name, value]) => `${name}=${value}`).join("\n");
}

/** As C takes it: 0 means the default. */
function evolutionOf({ generations, tournament = 0, elite = 0, crossover = 0, mutation = 0, sigma = 0, ...others }) {
    nothingElse(others, "evolve.");
    const unlikely = Object.entries({ crossover, mutation, sigma: sigma / 1000 }).find(([, value]) => !(value >= 0 && value <= 1));
    if (!generations) throw new TypeError("evolve.generations is how many there will be");
    if (unlikely) throw new TypeError(`evolve.${unlikely[0]} is out of range`);
    return [count(generations, "evolve.generations"), count(tournament, "evolve.tournament"), count(elite, "evolve.elite"), crossover, mutation, sigma];
}

export class Simulator extends Program {
    #prepared = null; // whose simulation C has
    #adapter = 0; // a measurement opens a device of its own, of the same kind

    /** @param options those of Program.start */
    static create(options = {}) {
        return new Simulator().start("solo-sim", options);
    }

    open({ adapter = "any" } = {}) {
        this.#prepared = null;
        return this.next(() => this.ask("sim_open", this.#adapter = adapterNumber(adapter)));
    }

    /** Room for so many numbers in C's memory while `act` runs. */
    async #withRoom(Numbers, length, act) {
        const { exports } = this.wasm, at = exports.solo_alloc(Math.max(length, 1) * Numbers.BYTES_PER_ELEMENT) >>> 0;
        if (!at) throw new Error("out of memory");
        try {
            return await act(at, () => new Numbers(this.wasm.memory().buffer, at, length));
        } finally {
            if (!this.dead) exports.solo_free(at);
        }
    }

    #withNumbers = (values, act) => this.#withRoom(Float32Array, values.length, (at, view) => (view().set(values), act(at)));

    #read = (Numbers, length, name) => this.#withRoom(Numbers, length, async (at, view) => {
        await this.ask(name, at);
        return view().slice();
    });

    /** What a caller asked for, checked, as C takes it. */
    #asked(source, { name, population = 0, steps = 0, seed = 1, params = {}, data, trace = {}, chunkMs = 500, ...others }) {
        nothingElse(others);
        const builtin = /^\w+$/.test(source), table = tableOf(data, "data");
        const sizes = Object.entries({ population, steps, seed }).map(([what, value]) => count(value, what));
        const traced = [count(trace.count ?? 0, "trace.count"), count(trace.every ?? 1, "trace.every"), count(chunkMs, "chunkMs") || 0xffffffff];
        return { texts: [name ?? (builtin ? source : "simulation.wgsl"), builtin ? "" : source, parametersOf(params)], table, sizes, traced };
    }

    async #forget() {
        this.#prepared = null;
        if (!this.dead) await this.call("sim_forget");
    }

    #make({ texts, table, sizes, traced }, evolves) {
        this.#prepared = null; // C has one at a time
        return this.wasm.withTexts(texts, (...at) => this.#withNumbers(table.values, (values) =>
            this.ask("sim_make", ...at, ...sizes, values, table.rows, table.columns, ...traced, Number(evolves))));
    }

    async #run(made, { traced }, { genomes, fuse }, evolution) {
        if (genomes) await this.#withNumbers(genomesOf(genomes, made.population, made.genes), (at) => this.call("sim_set_genes", at));
        const ran = await (evolution ? this.ask("sim_evolve", ...evolution) : this.ask("sim_run_all", placeOf(FUSIONS, fuse, "level of a simulation")));
        return { ...ran, ...(await this.#results(made, Math.min(traced[0], made.population), traced[1] || 1)), fuse };
    }

    /**
     * All steps of everyone, from the beginning; with `evolve`, of so many generations.
     * @param source WGSL, or the name of a built-in simulation
     * @returns scores, last states by member, and a trace if one was requested; after evolution the genes, and the best score of each generation
     */
    simulate(source, { genomes, fuse = "loop", evolve, onProgress = () => {}, ...options } = {}) {
        return this.next(async () => {
            const evolution = evolve && evolutionOf(evolve);
            if (evolve && (options.trace?.count || fuse !== "loop")) throw new TypeError("evolution leaves no trace, and chooses by itself how much to fuse");
            placeOf(FUSIONS, fuse, "level of a simulation");
            const asked = this.#asked(source, options);
            this.onProgress = onProgress;
            try {
                const made = await this.#make(asked, evolve !== undefined), result = await this.#run(made, asked, { genomes, fuse }, evolution);
                return evolution ? { ...result, best: Float32Array.from(result.best), genomes: await this.#genes(made) } : result;
            } finally {
                await this.#forget();
            }
        });
    }

    /**
     * A simulation that runs again and again: what is compiled stays, until another one is made.
     * @returns { run({ genomes, fuse }), close() }
     */
    prepare(source, options = {}) {
        const asked = this.#asked(source, options), mine = {};
        let made = null;
        return {
            run: ({ genomes, fuse = "loop" } = {}) => this.next(async () => {
                this.onProgress = () => {};
                if (this.#prepared !== mine) {
                    made = await this.#make(asked, false);
                    this.#prepared = mine;
                }
                return this.#run(made, asked, { genomes, fuse });
            }),
            close: () => this.next(async () => {
                if (this.#prepared === mine) await this.#forget();
            }),
        };
    }

    /** How long a small decoder takes as 1,024 dispatches, by every launch strategy, and as one: a record. */
    benchDecoder({ repetitions = 20, seed = 1, onProgress = () => {}, ...others } = {}) {
        return this.next(async () => {
            nothingElse(others);
            if (count(repetitions, "repetitions") < 2) throw new TypeError("repetitions are 2 or more");
            this.onProgress = onProgress;
            return signed(await this.ask("decoder_bench", this.#adapter, repetitions, count(seed, "seed")));
        });
    }

    /** (population, genes) of the generation that is there. */
    #genes({ population, genes }) {
        return this.#withRoom(Float32Array, population, (scores) => this.#withRoom(Float32Array, population * genes, async (at, view) => {
            await this.ask("sim_evolved", at, scores);
            return view().slice();
        }));
    }

    async #results({ words, trace_rows, population, ...made }, traced, every) {
        const scores = await this.#read(Float32Array, population, "sim_scores");
        const all = await this.#read(Float64Array, words.length * population, "sim_states");
        const byMember = (numbers, length) => Object.fromEntries(words.map((word, w) => [word, numbers.slice(w * length, (w + 1) * length)]));
        const result = { ...made, population, scores, states: byMember(all, population), trace: null };
        if (!traced) return result;
        const rows = await this.#read(Float64Array, trace_rows * words.length * traced, "sim_traced"), size = words.length * traced;
        result.trace = Array.from({ length: trace_rows }, (_, row) => ({ t: row * every, states: byMember(rows.subarray(row * size, (row + 1) * size), traced) }));
        return result;
    }

    /** Loses the device on purpose; for tests. */
    lose() {
        return this.next(() => this.call("sim_lose"));
    }

    close() {
        return this.next(() => (this.dead ? undefined : this.call("sim_close")));
    }
}
