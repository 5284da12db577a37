// Programs of PyTorch (.pt2) in a page and in Node: node torch.mjs node|chromium|firefox
// What the native program makes of the same files and numbers (solo run --seed), and what torch computed (tests/data/torch).
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { done, equal, test, thrown, yes } from "./check.mjs";

const [, , host] = process.argv, { SOLO, SOLO_PAGE } = process.env, FOLDER = "tests/data/torch", SEED = 5;
const NAMES = ["convnet", "encoder", "cache"], level = "ops"; // what software devices run natively

/** In a page or here: opens the file, runs it by the seed twice, the second time from the beginning. */
async function runTwice(solo, file, { seed, ...options }) {
    const program = await solo.openProgram(file, options), plain = (outputs) => Object.fromEntries(Object.entries(outputs).map(([name, { shape, data }]) => [name, { shape, data: [...data] }]));
    const first = plain(await program.run({}, { seed }));
    await program.reset();
    const again = plain(await program.run({}, { seed }));
    await program.close();
    return { first, same: JSON.stringify(first) === JSON.stringify(again), level: program.level, dispatches: program.dispatches, inputs: program.inputs };
}

/** A run with given inputs after another. */
async function runWith(solo, file, runs, options = {}) {
    const program = await solo.openProgram(file, options), all = [];
    for (const inputs of runs) all.push(Object.values(await program.run(inputs)).map(({ data }) => [...data]));
    await program.close();
    return { all, dispatches: program.dispatches, level: program.level };
}

async function whyNot(solo, file, inputs, options) {
    try {
        const program = await solo.openProgram(file, options);
        await program.run(inputs);
        return "nothing was wrong";
    } catch (error) {
        return `${error.usage ? "usage: " : ""}${error.message}`;
    }
}

let inHost, fileOf, leave, solo, page;
if (host === "node") {
    const { Solo } = await import(`${SOLO_PAGE}/solo.js`), dawn = await import("webgpu");
    Object.assign(globalThis, dawn.globals);
    solo = await Solo.open({ gpu: dawn.create([]) });
    fileOf = (name, bytes = readFileSync(`${FOLDER}/${name}.pt2`)) => Object.assign(new Blob([bytes]), { name: `${name}.pt2` });
    inHost = (act, ...args) => act(solo, ...args);
    leave = () => solo.close();
} else {
    const { serve } = await import("./server.mjs"), { visit } = await import("./visitor.mjs");
    const server = await serve(SOLO_PAGE, { models: Object.fromEntries(NAMES.map((name) => [`${name}.pt2`, `${FOLDER}/${name}.pt2`])) });
    server.other["/own.html"] = "<!doctype html><title>a page of its own</title>";
    const { browser } = await visit(host);
    await browser.goto(`${server.url}/own.html`);
    await browser.evaluate(async () => {
        const { Solo } = await import("./solo.js");
        globalThis.solo = await Solo.open();
        return true;
    });
    equal(server.requests.filter(({ path }) => /solo-torch/.test(path)), [], "nothing is fetched before the first program");
    // bytes of a file travel as text; a name is an address
    fileOf = (name, bytes) => (bytes ? { base64: Buffer.from(bytes).toString("base64") } : `/models/${name}.pt2`);
    inHost = (act, file, ...args) => browser.evaluate(`(async () => {
        const given = ${JSON.stringify(file)};
        const file = given.base64 ? new File([Uint8Array.from(atob(given.base64), (c) => c.charCodeAt(0))], "damaged.pt2") : given;
        return (${act})(solo, file, ...${JSON.stringify(args)});
    })()`);
    page = { browser, server };
    leave = async () => {
        await browser.close();
        server.close();
    };
}

const far = (got, wanted) => {
    const mean = wanted.reduce((sum, x) => sum + x, 0) / wanted.length, spread = Math.sqrt(wanted.reduce((sum, x) => sum + (x - mean) ** 2, 0) / wanted.length) + 1e-2;
    return Math.max(...got.map((x, i) => Math.abs(x - wanted[i]) / spread));
};

await test("networks of convolutions and of attention, a cache: the native run's results, twice", async () => {
    for (const name of NAMES) {
        const run = spawnSync(SOLO, ["run", `${FOLDER}/${name}.pt2`, "--seed", String(SEED), "--fuse", level], { encoding: "utf8" });
        equal([run.status, run.stderr.replace(/.*warning.*\n/g, "")], [0, ""], name);
        const native = JSON.parse(run.stdout), made = await inHost(runTwice, fileOf(name), { level, seed: SEED });
        equal(Object.keys(made.first), Object.keys(native), name);
        for (const [output, { shape, data }] of Object.entries(made.first)) {
            equal(shape, native[output].shape, `${name}: ${output}`);
            yes(far(data, native[output].data) <= 1e-5, `${name}: ${output} is ${far(data, native[output].data)} from the native run's`);
        }
        yes(made.same, `${name}: a state begins anew`);
        equal(made.level, level, name);
    }
});

await test("what torch computed, run after run, as one dispatch", async () => {
    const { runs } = JSON.parse(readFileSync(`${FOLDER}/cache.json`, "utf8"));
    const made = await inHost(runWith, fileOf("cache"), runs.map(({ inputs }) => inputs), { level: "token" });
    equal([made.level, made.dispatches], ["token", 1]);
    for (const [i, { outputs }] of runs.entries())
        for (const [k, wanted] of Object.values(outputs).entries()) yes(far(made.all[i][k], wanted) <= 1e-4, `run ${i}: ${far(made.all[i][k], wanted)} from torch's`);
});

await test("what is wrong is said: files that are cut or lie, inputs, levels", async () => {
    const whole = readFileSync(`${FOLDER}/convnet.pt2`), at = whole.indexOf('"nodes"'), lies = Buffer.from(whole);
    lies.write("#", at); // the JSON of the program
    const offset = Buffer.from(whole), central = offset.lastIndexOf(Buffer.from([0x50, 0x4b, 1, 2]));
    offset.writeUInt32LE(0x7fffffff, central + 42); // where a file begins
    const why = (file, inputs = {}, options = {}) => inHost(whyNot, file, inputs, options);
    yes(/no \.pt2 archive, or it is cut/.test(await why(fileOf("damaged", whole.subarray(0, 5000)))), "cut");
    yes(/model\.json: line \d+: this is no JSON/.test(await why(fileOf("damaged", lies))), "no JSON");
    yes(/lies outside of it/.test(await why(fileOf("damaged", offset))), "an offset");
    yes(/no \.pt2 archive/.test(await why(fileOf("damaged", Buffer.from("nothing of the kind")))), "something else");
    equal(await why(fileOf("convnet")), "usage: the input x (float32 2x3x9x9) is missing");
    equal(await why(fileOf("convnet"), { x: [1, 2] }), "usage: x (float32 2x3x9x9) takes 486 numbers, not 2");
    equal(await why(fileOf("convnet"), { y: [1] }), "usage: there is no input y: the inputs are x (float32 2x3x9x9)");
    yes(/^usage: there is no level "most"/.test(await why(fileOf("convnet"), {}, { level: "most" })), "a level");
    const { position, x } = JSON.parse(readFileSync(`${FOLDER}/cache.json`, "utf8")).runs[0].inputs;
    yes(/^usage: position .*: 0.5 is no integer/.test(await why(fileOf("cache"), { x, position: position.map(() => 0.5) })), "an integer");
});

if (page)
    await test("the page: a file that is dropped, numbers for it as .npy and JSON, what comes out, one that is cut", async () => {
        const { browser, server } = page, { runs } = JSON.parse(readFileSync(`${FOLDER}/cache.json`, "utf8")), textOf = (what) => browser.evaluate((which) => document.querySelector(which)?.textContent, what);
        const npyOf = (shape, header = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`.padEnd(117) + "\n") => Buffer.concat([Buffer.from("\x93NUMPY\x01\x00\x76\x00", "latin1"), Buffer.from(header), Buffer.from(Float64Array.from(runs[0].inputs.x).buffer)]);
        await browser.goto(`${server.url}/`);
        await browser.until(() => globalThis.soloPage?.solo && !soloPage.busy);
        const drop = (name, bytes) => browser.evaluate(([called, base64]) => {
            const files = new DataTransfer();
            files.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], called));
            dispatchEvent(new DragEvent("drop", { dataTransfer: files }));
        }, [name, bytes.toString("base64")]);
        const press = (label) => browser.evaluate((which) => [...document.querySelectorAll("#program button")].find((button) => button.textContent === which).click(), label);
        const said = async (wanted) => {
            await browser.until(() => !document.querySelector("#program .row button").disabled && document.querySelector("#program [role=status]").textContent);
            yes(wanted.test(await textOf("#program [role=status]")), await textOf("#program [role=status]"));
        };
        await drop("cache.pt2", readFileSync(`${FOLDER}/cache.pt2`));
        await browser.until(() => document.getElementById("program").open);
        yes(/^cache\.pt2/.test(await textOf("#program-title")) && /nodes of ATen, as \d+ dispatch/.test(await textOf("#program .soft")), await textOf("#program"));
        await press("Run");
        await said(/^took /);
        await press("Begin anew");
        await said(/states are as the file has them/);
        const give = (index, name, bytes) => browser.evaluate(([which, called, base64]) => {
            const files = new DataTransfer();
            files.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], called));
            document.querySelectorAll("#program input")[which].files = files.files;
        }, [index, name, bytes.toString("base64")]);
        await give(1, "position.json", Buffer.from(JSON.stringify(runs[0].inputs.position)));
        const shape = (await textOf("#program li label")).match(/\d+(×\d+)* *$/)[0].trim().split("×");
        await give(0, "x.npy", npyOf([1, ...shape]));
        await press("Run");
        await said(/x\.npy has the shape 1×[\d×]+, not /);
        await give(0, "x.npy", npyOf(shape));
        await press("Run");
        await said(/^took /);
        const shown = (await textOf("#program code")).match(/-?[\d.]+(e-?\d+)?/g).map(Number);
        yes(far(shown, runs[0].outputs.mul) <= 1e-4, `${shown} instead of ${runs[0].outputs.mul}`);
        await give(1, "position.json", Buffer.from("what?"));
        await press("Run");
        await said(/position\.json is no \.npy file, and no JSON/);
        await press("✕");
        await browser.evaluate(() => {
            const open = soloPage.solo.openProgram.bind(soloPage.solo);
            globalThis.ended = [];
            soloPage.solo.openProgram = async (file) => {
                const program = await open(file);
                return { ...program, close: () => (ended.push(file.name), program.close()) };
            };
        });
        await drop("first.pt2", readFileSync(`${FOLDER}/cache.pt2`));
        await browser.until(() => document.getElementById("program").open);
        await drop("second.pt2", readFileSync(`${FOLDER}/cache.pt2`));
        await browser.until(() => /^second/.test(document.getElementById("program-title").textContent) && document.getElementById("program").open);
        equal(await browser.evaluate(() => ended), ["first.pt2"], "another program takes the place of the first");
        await browser.evaluate(() => document.getElementById("program").dispatchEvent(new Event("close"))); // the first one's, which comes with a picture that may be late
        await press("Run");
        await said(/^took /);
        equal(await browser.evaluate(() => ended), ["first.pt2"], "and stays there");
        await press("✕");
        await drop("cut.pt2", readFileSync(`${FOLDER}/cache.pt2`).subarray(0, 3000));
        await browser.until(() => !document.getElementById("trouble").hidden);
        yes(/cut\.pt2: it is no \.pt2 archive, or it is cut/.test(await textOf("#trouble-text")), await textOf("#trouble-text"));
    });

if (host === "node")
    await test("a lost device, and another program after it; the module alone", async () => {
        const { Torch } = await import(`${SOLO_PAGE}/torch.js`), { create } = await import("webgpu"), torch = await Torch.create({ gpu: create([]) });
        const bytes = new Uint8Array(readFileSync(`${FOLDER}/cache.pt2`)), source = { name: "cache.pt2", size: bytes.length, read: async (from, length) => bytes.subarray(from, from + length) };
        yes((await torch.open()).device, "a device");
        const program = await torch.load(source), { inputs, outputs } = JSON.parse(readFileSync(`${FOLDER}/cache.json`, "utf8")).runs[0];
        equal([program.states.length > 0, program.inputs.map(({ type }) => type)], [true, ["float32", "int64"]]);
        const made = await torch.run(program.number, { ...inputs, position: BigInt64Array.from(inputs.position, BigInt) });
        yes(far([...Object.values(made)[0].data], Object.values(outputs)[0]) <= 1e-4, "torch's result");
        await torch.lose();
        yes(/device lost/.test((await thrown(() => torch.run(program.number, inputs))).message), "it says so");
        yes(/device lost/.test((await thrown(() => torch.load(source))).message), "and again");
        await torch.open();
        yes(/was closed/.test((await thrown(() => torch.run(program.number, inputs))).message), "with its device");
        await torch.forget(program.number);
        equal((await torch.run((await torch.load(source)).number, inputs)).mul.data.length, 8);
        await torch.close();
        const twice = await solo.openProgram(fileOf("cache"));
        yes((await twice.run(inputs)).mul, "Solo's own");
        await twice.close();
        yes(/was closed/.test((await thrown(() => twice.run(inputs))).message), "closed");
        yes(/a Blob or a URL/.test((await thrown(() => solo.openProgram(7))).message), "no file");
    });
await leave();
done();
