// The other side of src/gpu/web: WebGPU for C, as the imports of a wasm module.
//
// C knows things by their places in a table here. What goes wrong is kept on the device until C asks
// (error). Functions that return a promise suspend C until it is kept; what they brought (came) is
// polled by C afterwards. Nothing here calls into C.

const USE = [0x80, 0x40, 0x100 | 0x80].map((use) => use | 0x04 | 0x08); // storage, uniform, indirect; and copies
const MAP_READ = 0x01, COPY_SRC = 0x04, COPY_DST = 0x08, QUERY_RESOLVE = 0x200, COMPUTE = 0x4;
const BINDING_TYPES = ["read-only-storage", "storage", "uniform"];
const TIME_BEGIN = 1, TIME_END = 2;
const SPARE_BYTES = 256, SPARE_COUNT = 4; // read buffers that are kept: a token comes back every time
const NOTHING_BYTES = 4096, UNIFORM = 2; // of buffers that kernels run on beforehand; a kind of binding
const LOSS_MS = 500; // so long after what failed for it may a loss be said
const SOFTWARE = 2; // which adapter to request
const TYPE_UNKNOWN = 0, TYPE_SOFTWARE = 3;

const LIMITS = [
    "maxBufferSize", "maxStorageBufferBindingSize", "maxUniformBufferBindingSize", "maxStorageBuffersPerShaderStage",
    "maxComputeWorkgroupStorageSize", "maxComputeInvocationsPerWorkgroup", "maxComputeWorkgroupsPerDimension",
];
const MORE_LIMITS = ["maxComputeWorkgroupSizeX", "maxComputeWorkgroupSizeY"];
const FEATURES = ["subgroups", "shader-f16", "timestamp-query", "chromium-experimental-subgroup-matrix"];

const turn = () => new Promise((next) => setTimeout(next, 0));

/** What this JavaScript runs in, with its version. */
export function hostName() {
    if (globalThis.Deno) return `Deno ${Deno.version.deno}`;
    const agent = globalThis.navigator?.userAgent ?? "";
    // Edge and Opera say that they are Chrome, too
    const found = agent.match(/(Firefox|Edg|OPR)\/[\d.]+/) ?? agent.match(/Chrome\/[\d.]+/) ?? agent.match(/Version\/[\d.]+ .*Safari/);
    if (found) return found[0].replace("/", " ").replace(/^Edg /, "Edge ").replace(/^OPR /, "Opera ");
    return globalThis.process?.versions?.node ? `Node ${process.versions.node}` : agent || "unknown";
}

/** The same without the 4 ms that timers take at least. */
const shortTurn = (() => {
    const waiting = []; // messages arrive in the order they were sent
    const channel = typeof MessageChannel === "undefined" ? null : new MessageChannel();
    if (!channel) return turn;
    channel.port1.onmessage = () => waiting.shift()();
    channel.port1.unref?.(); // Node would not end for it
    return () => new Promise((wake) => {
        waiting.push(wake);
        channel.port2.postMessage(0);
    });
})();

/** Firefox checks for finished work every 100 ms only, unless something is submitted. */
const NUDGE_MS = 0.5, PATIENT_MS = 20; // how often it is, and from when on more seldom
const looksSeldom = () => /Firefox\//.test(globalThis.navigator?.userAgent ?? "");

/** The name of the machine's OpenGL renderer, where WebGPU gives none. Read once: browsers allow few contexts. */
let renderer = null;
function rendererName() {
    try {
        const gl = renderer === null ? new OffscreenCanvas(1, 1).getContext("webgl") : null;
        renderer ??= String(gl?.getParameter(gl.RENDERER) ?? "");
        gl?.getExtension("WEBGL_lose_context")?.loseContext();
    } catch {
        renderer ??= "";
    }
    return renderer;
}

/** A description is the driver's own word; the vendor's and the rest are what the browser makes of a number. */
function isSoftware(adapter, info) {
    const name = info.description || [info.vendor, info.architecture, info.device].join(" ").trim();
    if (adapter.isFallbackAdapter || info.isFallbackAdapter) return true;
    return /swiftshader|llvmpipe|lavapipe|softpipe|basic render|software/i.test(name || rendererName());
}

class Device {
    errors = [];
    came = [];
    reading = 0;
    pending = []; // promises that resolve to whether an object is valid
    ahead = new Map(); // kernels for later, by their texts: compiled in the background
    spares = [];
    lost = false;
    closing = false;
    wake = () => {};
    waiting = new Set(); // those whom a loss wakes

    constructor(device, adapter) {
        const info = adapter.info ?? {};
        this.device = device;
        this.queue = device.queue;
        this.texts = [hostName(), "WebGPU", info.vendor || "unknown", info.device || info.architecture || "unknown", info.description || rendererName() || "unknown"];
        this.numbers = [
            isSoftware(adapter, info) ? TYPE_SOFTWARE : TYPE_UNKNOWN,
            ...FEATURES.map((name) => Number(device.features.has(name))),
            info.subgroupMinSize ?? 0, info.subgroupMaxSize ?? 0,
            ...LIMITS.map((name) => device.limits[name]),
            device.limits.minUniformBufferOffsetAlignment,
        ];
        if (/^(unknown|0x[\da-f]+|\d+)$/.test(this.texts[3])) this.texts[3] = this.texts[4];
        device.addEventListener("uncapturederror", (event) => this.fail(`${event.error.constructor.name}: ${event.error.message}`));
        device.lost.then(({ message }) => {
            for (const end of this.waiting) end();
            if (this.closing) return;
            this.lost = true;
            this.errors.push([2, message || "no reason given"]);
            this.wake();
        });
    }

    fail(text) {
        this.errors.push([1, text]);
        this.wake();
    }

    /** Objects made meanwhile may turn out to be invalid: `check` gets the error. */
    guarded(filters, make, check) {
        for (const filter of filters) this.device.pushErrorScope(filter);
        let made = null;
        try {
            made = make();
        } catch (error) {
            check(error.message);
        }
        for (const _ of filters) this.pending.push(this.device.popErrorScope().then((error) => error && check(error.message), () => {}));
        return made;
    }

    /** The promise, or undefined as soon as the device is lost. (A race with device.lost would leave something at it each time.) */
    orLost(promise) {
        return new Promise((end, fail) => {
            this.waiting.add(end);
            promise.then(end, fail).finally(() => this.waiting.delete(end));
            if (this.lost) end();
        });
    }

    /** What failed may have failed for a loss that is said only later (Chromium): then that is the error. */
    lossSaid() {
        return Promise.race([this.device.lost, new Promise((next) => setTimeout(next, LOSS_MS))]);
    }

    /** A promise of the queue's, and something for those who look only when asked to. */
    async hurried(promise) {
        let kept = false;
        promise = this.orLost(promise).finally(() => (kept = true));
        if (!looksSeldom()) return promise;
        for (let began = performance.now(), nudged = began; !kept && !this.lost; ) {
            const now = performance.now();
            if (now - nudged >= NUDGE_MS) {
                this.queue.submit([]);
                nudged = now;
            }
            await (now - began < PATIENT_MS ? shortTurn() : turn());
        }
        return promise;
    }

    /** Software compiles a kernel when it first runs: let it, on nothing, while the others are made and the model comes. */
    warm({ pipeline, layout }, kinds) {
        this.nothing ??= kinds.map((kind) => this.device.createBuffer({ size: NOTHING_BYTES, usage: USE[kind === UNIFORM ? 1 : 0] }));
        const encoder = this.device.createCommandEncoder(), pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, this.device.createBindGroup({ layout, entries: this.nothing.map((buffer, binding) => ({ binding, resource: { buffer } })) }));
        pass.dispatchWorkgroups(1);
        pass.end();
        this.queue.submit([encoder.finish()]);
    }

    takeMappable(bytes) {
        if (bytes <= SPARE_BYTES && this.spares.length) return this.spares.pop();
        return this.device.createBuffer({ size: Math.max(bytes, SPARE_BYTES), usage: MAP_READ | COPY_DST });
    }

    giveMappable(buffer) {
        if (buffer.size === SPARE_BYTES && this.spares.length < SPARE_COUNT) this.spares.push(buffer);
        else buffer.destroy();
    }

    /** Bytes of a buffer, as they are after all that was submitted. */
    async bytesOf(buffer, offset, bytes) {
        const copy = this.takeMappable(bytes);
        const encoder = this.device.createCommandEncoder();
        encoder.copyBufferToBuffer(buffer, offset, copy, 0, bytes);
        this.queue.submit([encoder.finish()]);
        await this.hurried(copy.mapAsync(1, 0, bytes));
        if (this.lost) throw new Error("the device was lost");
        const read = new Uint8Array(copy.getMappedRange(0, bytes)).slice();
        copy.unmap();
        this.giveMappable(copy);
        return read;
    }
}

async function openDevice(gpu, adapterWanted) {
    if (!gpu) throw new Error("this browser has no WebGPU, or not on this page: it needs https (or localhost), and a recent Chrome, Edge, Safari or Firefox");
    const adapter = await gpu.requestAdapter({ powerPreference: "high-performance", forceFallbackAdapter: adapterWanted === SOFTWARE });
    if (!adapter) throw new Error("WebGPU is here, but no GPU that it may use: hardware acceleration may be switched off in the browser's settings");
    const limits = [...LIMITS, ...MORE_LIMITS].filter((name) => adapter.limits[name] !== undefined);
    const device = await adapter.requestDevice({
        requiredFeatures: FEATURES.filter((name) => adapter.features.has(name)),
        requiredLimits: Object.fromEntries(limits.map((name) => [name, adapter.limits[name]])),
    });
    return new Device(device, adapter);
}

/** naga, where it does not like what a function does, names the function's first line, and marks the place below one of those it quotes. */
function lineMarked(message) {
    let line = 0;
    for (const text of message.split("\n")) {
        const [, number] = text.match(/^ *(\d+) │/) ?? [];
        if (number) line = Number(number);
        else if (line && /^ *│[^╰]*\^/.test(text)) return line;
    }
    return 0;
}

/** What is wrong with a shader that does not compile and in which line, as one sentence (src/gpu/webgpu/shader_error.c). */
async function whyNot(name, wgsl, module, error) {
    const info = await module?.getCompilationInfo?.().catch(() => null);
    const first = info?.messages.find((message) => message.type === "error"), marked = lineMarked(first?.message ?? "");
    if (!first?.lineNum) return `kernel '${name}': ${error.message ?? error}`;
    const reasons = first.message.split("\n").filter((text) => (marked ? text.startsWith("  = ") : text.trim())), line = marked || first.lineNum;
    const why = (marked ? reasons.at(-1)?.slice(4) : reasons[0]) ?? "it does not compile";
    return `kernel '${name}', WGSL line ${line}: ${why.replace(/^.*error: /, "").trim()}: "${wgsl.split("\n")[line - 1]?.trim()}"`;
}

/** A kernel whose `made` is kept as soon as it has its pipeline, or knows why it has none. */
function makeKernel(device, name, wgsl, entryPoint, kinds) {
    const kernel = { device, layout: null, pipeline: null, why: null, made: null, ready: false, free: () => {} };
    let module = null;
    device.guarded(["validation"], () => {
        const entries = kinds.map((kind, binding) => ({ binding, visibility: COMPUTE, buffer: { type: BINDING_TYPES[kind] } }));
        kernel.layout = device.device.createBindGroupLayout({ entries });
        module = device.device.createShaderModule({ code: wgsl });
    }, () => {}); // what is wrong with it shows below
    const make = async () => {
        const layout = device.device.createPipelineLayout({ bindGroupLayouts: [kernel.layout] });
        kernel.pipeline = await device.device.createComputePipelineAsync({ layout, compute: { module, entryPoint } });
    };
    kernel.made = make().catch(async (error) => (kernel.why = await whyNot(name, wgsl, module, error))).finally(() => (kernel.ready = true));
    return kernel;
}

/**
 * The imports of module "gpu" (src/gpu/web/host.h).
 * @param gpu what navigator.gpu is
 * @param memory () => the wasm memory
 * @param text helpers that read and write C's strings
 */
export function gpuImports(gpu, memory, { read, write }) {
    const things = [null]; // by their numbers
    const free = [];
    let whyNotOpen = "";
    const keep = (thing) => {
        const id = free.pop() ?? things.length;
        things[id] = thing;
        return id;
    };
    const drop = (id) => {
        things[id] = null;
        free.push(id);
    };
    /** Does it, unless it throws: then that is the device's error. */
    const safely = (device, act) => {
        try {
            return act();
        } catch (error) {
            device.fail(error.message);
        }
    };

    const suspending = {
        async open(adapter) {
            try {
                return keep(await openDevice(gpu, adapter));
            } catch (error) {
                whyNotOpen = error.message;
                return 0;
            }
        },
        await_errors(id) {
            const device = things[id], made = device.pending;
            device.pending = [];
            return made.length ? device.orLost(Promise.all(made)).then(() => {}) : undefined;
        },
        wait(id) {
            const device = things[id];
            return device.lost ? undefined : device.hurried(device.queue.onSubmittedWorkDone()).then(() => {});
        },
        poll(id) {
            const device = things[id];
            if (device.came.length || device.errors.length) return undefined;
            return device.reading ? new Promise((wake) => (device.wake = wake)) : turn();
        },
        async timer_read(id) {
            const { device, queries, resolved } = things[id];
            try {
                const encoder = device.device.createCommandEncoder();
                encoder.resolveQuerySet(queries, 0, 2, resolved, 0);
                device.queue.submit([encoder.finish()]);
                const [begin, end] = new BigUint64Array((await device.bytesOf(resolved, 0, 16)).buffer);
                return end >= begin ? Number(end - begin) : -1;
            } catch (error) {
                await device.lossSaid();
                device.fail(error.message);
                return -1;
            }
        },
    };

    const immediate = {
        close(id) {
            const device = things[id];
            device.closing = true;
            device.device.destroy();
            drop(id);
        },
        lose: (id) => things[id].device.destroy(),
        number: (id, which) => things[id].numbers[which],
        text: (id, which, out, room) => write(out, room, things[id].texts[which]),
        error(id, out, room) {
            if (!id) {
                write(out, room, whyNotOpen);
                return 1;
            }
            const [kind, text] = things[id].errors.shift() ?? [0, ""];
            if (kind) write(out, room, text);
            return kind;
        },
        came(id, ok) {
            const read = things[id].came.shift();
            if (!read) return 0;
            new DataView(memory().buffer).setInt32(ok, Number(read.ok), true);
            return read.who;
        },

        buffer(id, bytes, use) {
            const device = things[id];
            const wrong = (message) => device.fail(`a buffer of ${bytes} bytes: ${message}`);
            const buffer = device.guarded(["validation", "out-of-memory"], () => device.device.createBuffer({ size: bytes, usage: USE[use] }), wrong);
            return keep({ device, buffer, free: () => buffer?.destroy() });
        },
        write(id, offset, data, bytes) {
            const { device, buffer } = things[id];
            safely(device, () => device.queue.writeBuffer(buffer, offset, memory().buffer, data >>> 0, bytes));
        },
        read(id, offset, data, bytes, who) {
            const { device, buffer } = things[id];
            device.reading++;
            const over = (ok) => {
                device.reading--;
                device.came.push({ who, ok });
                device.wake();
            };
            device.bytesOf(buffer, offset, bytes).then((read) => {
                new Uint8Array(memory().buffer, data >>> 0, bytes).set(read);
                over(true);
            }).catch(() => device.lossSaid().then(() => over(false)));
        },
        kernel(id, nameAt, wgslAt, entryAt, kindsAt, count, idle, ahead) {
            const device = things[id], wgsl = read(wgslAt);
            const kinds = Array.from(new Uint8Array(memory().buffer, kindsAt >>> 0, count)); // memory may grow before they are looked at again
            const kernel = device.ahead.get(wgsl) ?? makeKernel(device, read(nameAt), wgsl, read(entryAt), kinds);
            if (ahead) {
                device.ahead.set(wgsl, kernel);
                return keep(kernel);
            }
            device.ahead.delete(wgsl);
            device.pending.push(kernel.made.then(() => {
                if (kernel.why) device.fail(kernel.why);
                else if (idle && device.numbers[0] === TYPE_SOFTWARE) device.warm(kernel, kinds);
            }));
            return keep(kernel);
        },
        kernel_is_ready: (id) => Number(things[id].ready),
        bindings(id, partsAt, count) {
            const kernel = things[id], own = kernel.device;
            const parts = new Float64Array(memory().buffer, partsAt >>> 0, 3 * count);
            const entries = Array.from({ length: count }, (_, i) => ({
                binding: i, resource: { buffer: things[parts[3 * i]].buffer, offset: parts[3 * i + 1], size: parts[3 * i + 2] },
            }));
            const group = own.guarded(["validation"], () => own.device.createBindGroup({ layout: kernel.layout, entries }), (message) => own.fail(message));
            return keep({ group, free: () => {} });
        },
        free(id) {
            things[id].free();
            drop(id);
        },

        record: (id) => keep({ device: things[id], encoder: things[id].device.createCommandEncoder(), pass: null, commands: null }),
        pass_begin(id, timer, edges) {
            const recording = things[id];
            const timestampWrites = timer && edges ? { querySet: things[timer].queries } : undefined;
            if (edges & TIME_BEGIN && timestampWrites) timestampWrites.beginningOfPassWriteIndex = 0;
            if (edges & TIME_END && timestampWrites) timestampWrites.endOfPassWriteIndex = 1;
            recording.pass = recording.encoder.beginComputePass(timestampWrites && { timestampWrites });
        },
        set_kernel(id, kernelId) {
            const { device, pass } = things[id], kernel = things[kernelId];
            if (kernel.pipeline) pass.setPipeline(kernel.pipeline);
            else device.fail(kernel.why ?? "a kernel was used that is not there");
        },
        set_bindings: (id, bindings) => things[id].pass.setBindGroup(0, things[bindings].group),
        dispatch: (id, x, y, z) => things[id].pass.dispatchWorkgroups(x, y, z),
        dispatch_indirect: (id, buffer, offset) => things[id].pass.dispatchWorkgroupsIndirect(things[buffer].buffer, offset),
        pass_end: (id) => things[id].pass.end(),
        copy: (id, source, sourceOffset, target, targetOffset, bytes) =>
            things[id].encoder.copyBufferToBuffer(things[source].buffer, sourceOffset, things[target].buffer, targetOffset, bytes),
        finish(id) {
            const recording = things[id];
            recording.commands = safely(recording.device, () => recording.encoder.finish());
        },
        submit(id) {
            const { device, commands } = things[id];
            if (commands) safely(device, () => device.queue.submit([commands]));
            drop(id);
        },

        timer(id) {
            const device = things[id];
            const queries = device.device.createQuerySet({ type: "timestamp", count: 2 });
            const resolved = device.device.createBuffer({ size: 16, usage: QUERY_RESOLVE | COPY_SRC });
            return keep({ device, queries, resolved, free: () => (queries.destroy(), resolved.destroy()) });
        },
    };
    /** For when C is not there any more to do it. */
    const closeAll = () => things.forEach((thing, id) => thing instanceof Device && immediate.close(id));
    /** Until what is made in the background is, or the device is lost. */
    const madeAhead = () => Promise.all(things.filter((thing) => thing instanceof Device).flatMap((device) => Array.from(device.ahead.values(), ({ made }) => device.orLost(made))));
    return { suspending, immediate, closeAll, madeAhead };
}
