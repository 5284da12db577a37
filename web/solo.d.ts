/** How tokens are launched: a dispatch per operator, per fused group, per token, or for many tokens. */
export type Level = "none" | "ops" | "token" | "loop";
export type Submit = "sync" | "each" | "pass" | "batch";
export type Adapter = "any" | "gpu" | "software";

export interface Progress {
    /** "downloading", "checking", "loading the model", "setting up", "measuring", "simulating", "evolving" */
    what: string;
    /** bytes of a download or a model; else a count */
    done: number;
    total: number;
}

/** Nothing: the built-in model. A File stays on disk, a URL is kept for the next time, { kept } is one of models.list(). */
export type ModelChoice = File | Blob | URL | string | { kept: string };

export interface LoadOptions {
    model?: ModelChoice;
    /** What a download's SHA-256 must be. */
    sha256?: string;
    /** The highest wanted; "auto", the default: the best that is safe here. */
    level?: Level | "auto";
    /** The lower ones, too, for setLevel. */
    allLevels?: boolean;
    /** Answers may use lower levels until the requested one has compiled (Solo.improved). The default where no level is given. */
    soon?: boolean;
    /** Positions at most. */
    context?: number;
    onProgress?: (progress: Progress) => void;
}

export interface OpenOptions {
    adapter?: Adapter;
    /** Where navigator.gpu is not (Node): what stands for it. Runs in place then, without a worker. */
    gpu?: unknown;
    /** Environment of the C program: SOLO_ONE_GROUPS and the like, for experiments. */
    environment?: Record<string, string>;
    /** false: Asyncify even where JSPI is. */
    jspi?: boolean;
    /** The built-in model will be wanted: it is fetched while the device is opened. */
    builtin?: boolean;
    /** The folder with this package's files, where they are not beside the module: a bundler moved it. Ends with a slash. */
    base?: string | URL;
}

export interface ModelInfo {
    name: string;
    architecture: string;
    layers: number;
    vocabulary: number;
    context: number;
    /** What the model was made for; the context is shorter where that does not fit. */
    trained_context: number;
    /** "own": its chat template is used; null: there is none, or none that can be run, and texts simply go on. */
    format: string | null;
    /** Why its chat template cannot be run, with its line; else null. */
    template_error: string | null;
    level: Level;
    /** A better level is being made ready in the background, as it is the first time: Solo.improved. */
    improving: boolean;
    /** For a token. */
    dispatches: number;
    /** Of the one dispatch; 0: there are several. */
    workgroups: number;
    gpu_bytes: number;
    /** Of those, what the context takes. */
    cache_bytes: number;
    file_bytes: number;
    /** Something the user should know, such as a level that could not be had. */
    notice: string | null;
}

export interface KeptModel {
    key: string;
    name: string;
    /** "": not known any more; it can only be deleted. */
    url: string;
    size: number;
    /** Of those that are here. */
    bytes: number;
    complete: boolean;
}

export interface Message {
    role: "system" | "user" | "assistant";
    /** Parts are joined. */
    content: string | { type: "text"; text: string }[];
}

/** Fields that are not here are refused by name, never ignored. */
export interface Sampling {
    /** Allowed, and without a meaning: it is the loaded model that answers. */
    model?: string;
    max_tokens?: number;
    max_completion_tokens?: number;
    /** 0: always the most likely token. */
    temperature?: number;
    top_k?: number;
    top_p?: number;
    min_p?: number;
    repeat_penalty?: number;
    seed?: number;
    stop?: string | string[];
    /** A conversation that does not fit the context: its oldest turns are left out ("forget"), or nothing is answered ("stop", `end` is "full"). */
    on_full?: "forget" | "stop";
    signal?: AbortSignal;
}

export interface StreamOptions {
    /** true: in a chunk of its own without choices, the last; false: not at all; not said: in the chunk that ends the text. */
    include_usage?: boolean;
}

/** What a request asks for decides what comes back. */
export interface Create<Asked, Whole, Piece> {
    (request: Sampling & Asked & { stream: true; stream_options?: StreamOptions }): Promise<AsyncIterable<Piece>>;
    (request: Sampling & Asked & { stream?: false }): Promise<Whole>;
    (request: Sampling & Asked & { stream?: boolean; stream_options?: StreamOptions }): Promise<Whole | AsyncIterable<Piece>>;
}

export interface Usage {
    prompt_tokens: number;
    completion_tokens: number;
    total_tokens: number;
}

/** What an answer took. */
export interface Report {
    end: "stop" | "length" | "full" | "interrupted";
    prompt_tokens: number;
    /** Of those, which were in the cache already. */
    reused_tokens: number;
    tokens: number;
    forgotten_messages: number;
    /** Until the first text; the prompt is read within it. */
    first_token_s: number | null;
    /** From the first token on. */
    tokens_per_s: number;
    dispatches_per_token: number;
    /** null: it was stopped before it began. */
    level: Level | null;
    notice: string | null;
}

export interface ChatCompletion {
    id: string;
    object: "chat.completion";
    created: number;
    model: string;
    choices: [{ index: 0; message: { role: "assistant"; content: string }; finish_reason: "stop" | "length"; logprobs: null }];
    usage: Usage;
    solo: Report;
}

export interface ChatCompletionChunk {
    id: string;
    object: "chat.completion.chunk";
    created: number;
    model: string;
    /** One; none in a chunk that has the usage only. */
    choices: { index: 0; delta: { role?: "assistant"; content?: string }; finish_reason: "stop" | "length" | null }[];
    /** As StreamOptions say. */
    usage?: Usage;
    solo?: Report;
}

export interface Completion {
    id: string;
    object: "text_completion";
    created: number;
    model: string;
    choices: { index: 0; text: string; finish_reason: "stop" | "length" | null; logprobs?: null }[];
    usage?: Usage;
    solo?: Report;
}

/** An error with what a page may want to know of it. */
export interface SoloError extends Error {
    cancelled: boolean;
    /** There is no WebGPU, or no GPU. */
    noGpu: boolean;
    /** What was asked for makes no sense; it is not the device's fault. */
    usage: boolean;
    /** The device is gone, or memory ran out: recover() gets another. */
    lost: boolean;
    /** The model that was loaded before still is. */
    kept: boolean;
}

/** A measurement, as `solo bench --json` writes it. */
export type Measurement = { schema: string; experiment: string; results: object[]; checks: object[]; [key: string]: unknown };

/** Rows of numbers. */
export type Table = number[][] | { values: ArrayLike<number>; columns: number };

export interface SimulationOptions {
    /** What errors call it. */
    name?: string;
    /** 0 or nothing: what the file says. */
    population?: number;
    steps?: number;
    /** 1 if not said. */
    seed?: number;
    /** Of the file's overrides. */
    params?: Record<string, number>;
    /** For data(row, column). */
    data?: Table;
    /** A row for everyone, or one for all; drawn by the seed if not said. */
    genomes?: Table | ArrayLike<number>;
    /** So many individuals leave a trace, after every so many steps. */
    trace?: { count: number; every?: number };
    /** All steps in one dispatch, which is the default, or a dispatch for each; both give the same bits. */
    fuse?: "loop" | "none";
    /** So many generations, on the device, instead of one run; what is 0 or not said is as natively. */
    evolve?: { generations: number; tournament?: number; elite?: number; crossover?: number; mutation?: number; sigma?: number };
    /** How long a dispatch may take, about (500); 0: as long as it takes. */
    chunkMs?: number;
    onProgress?: (progress: Progress) => void;
}

export interface Simulation {
    population: number;
    steps: number;
    genes: number;
    scores: Float32Array;
    /** By member: "x", "position.y", "cash[3]"; a number for each individual. */
    states: Record<string, Float64Array>;
    /** How it was after t steps. */
    trace: { t: number; states: Record<string, Float64Array> }[] | null;
    fuse: "loop" | "none";
    dispatches: number;
    submits: number;
    seconds: number;
    /** After evolution: the best score of each generation, and the genes of the last, (population, genes). */
    best?: Float32Array;
    genomes?: Float32Array;
    /** Something the user should know: coupled steps that had to be made by separate dispatches. */
    notice: string | null;
}

/** Of a simulation that runs again and again: what may differ from run to run. */
export type RunOptions = Pick<SimulationOptions, "genomes" | "fuse">;

export interface PreparedSimulation {
    /** All steps, from the beginning. Without `genomes`: with those of the run before. */
    run(options?: RunOptions): Promise<Simulation>;
    close(): Promise<void>;
}

/** What holds for all runs. */
export type PrepareOptions = Omit<SimulationOptions, "genomes" | "fuse" | "evolve" | "onProgress">;

export interface ProgramPort {
    name: string;
    /** In torch: "float32", "int64", "bool" and so on. */
    type: string;
    shape: number[];
}

/** Numbers in C order, nested or not. */
export type Numbers = ArrayLike<number> | BigInt64Array | boolean | number | Numbers[];

export interface ProgramOutput {
    type: string;
    shape: number[];
    /** In C order; integers and booleans as 32-bit integers. */
    data: Float32Array | Int32Array;
}

/** A program of PyTorch on the device. */
export interface TorchProgram {
    /** Of ATen, and how many of them an output needs that are not constant. */
    readonly nodes: number;
    readonly needed: number;
    readonly level: Level;
    readonly dispatches: number;
    readonly gpu_bytes: number;
    readonly inputs: ProgramPort[];
    readonly outputs: ProgramPort[];
    /** Buffers that the program changes; they live on from run to run. */
    readonly states: ProgramPort[];
    /** With a seed, inputs that are missing get the random numbers of `solo run --seed`. */
    run(inputs?: Record<string, Numbers>, options?: { seed?: number }): Promise<Record<string, ProgramOutput>>;
    /** States begin anew, as the file has them. */
    reset(): Promise<void>;
    close(): Promise<void>;
}

export class Solo {
    static open(options?: OpenOptions): Promise<Solo>;
    static load(options?: OpenOptions & LoadOptions): Promise<Solo>;

    readonly info: { gpu: { [key: string]: unknown; device: string; adapter_type: string }; best_level: Level };
    readonly model: ModelInfo | null;
    /** The model as it is when the best level for it is there; at once where it was from the beginning. Answers need not wait for it. */
    readonly improved: Promise<ModelInfo | null>;

    readonly chat: {
        completions: { create: Create<{ messages: Message[] }, ChatCompletion, ChatCompletionChunk> };
    };
    readonly completions: { create: Create<{ prompt: string }, Completion, Completion> };
    readonly models: {
        list(): Promise<KeptModel[]>;
        delete(key: string): Promise<void>;
    };

    loadModel(options?: LoadOptions): Promise<ModelInfo>;
    recover(options?: { onProgress?: (progress: Progress) => void }): Promise<ModelInfo | null>;
    setLevel(level: Level | "auto"): Promise<ModelInfo>;
    /** Ends all answers in progress; the signal of an answer ends only that one. */
    stop(): Promise<void>;
    /** Gives up the model that is being fetched or loaded. */
    cancelLoad(): Promise<void>;

    /** WGSL, or the name of a built-in simulation. */
    simulate(source: string, options?: SimulationOptions): Promise<Simulation>;

    /** The same, to be run again and again: it is compiled once, at the first run. */
    prepareSimulation(source: string, options?: PrepareOptions): Promise<PreparedSimulation>;

    /** A .pt2 file of torch.export, as a Blob or a URL. */
    openProgram(file: Blob | URL | string, options?: { level?: Level | "auto"; onProgress?: (progress: Progress) => void }): Promise<TorchProgram>;

    benchDispatch(options?: { quick?: boolean; rounds?: number; processes?: number; seed?: number; onProgress?: (progress: Progress) => void }): Promise<Measurement>;
    benchLlm(options?: {
        levels?: Level[]; submits?: Submit[]; prompt?: number; tokens?: number; depth?: number; repetitions?: number; seed?: number;
        onProgress?: (progress: Progress) => void;
    }): Promise<Measurement>;
    /** A small decoder as 1,024 dispatches, by every launch strategy, and as one; its program is that of simulations. */
    benchDecoder(options?: { repetitions?: number; seed?: number; onProgress?: (progress: Progress) => void }): Promise<Measurement>;

    loseDevice(): Promise<void>;
    /** At once, whatever is in progress. */
    end(): void;
    close(): Promise<void>;
}
