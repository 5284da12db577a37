// A program of PyTorch (a .pt2 file) in the page: what it takes, numbers for it, a run of it, what comes out.
import { bytes, seconds } from "./format.js";

const element = (tag, textContent = "", more = {}) => Object.assign(document.createElement(tag), { textContent, ...more });
const shapeOf = ({ type, shape }) => `${type}${shape.length ? ` ${shape.join("×")}` : ""}`;
const MOST_SHOWN = 8;

const READERS = { "<f4": ["getFloat32", 4], "<f8": ["getFloat64", 8], "<i4": ["getInt32", 4], "<i8": ["getBigInt64", 8], "|b1": ["getUint8", 1], "|u1": ["getUint8", 1], "|i1": ["getInt8", 1] };

/** The numbers of a .npy file, or of a JSON file with lists; `shape`: what the former has to say. */
export async function numbersIn(file, shape) {
    const buffer = await file.arrayBuffer(), view = new DataView(buffer), text = (from, to) => new TextDecoder("latin1").decode(buffer.slice(from, to));
    if (buffer.byteLength < 10 || view.getUint8(0) !== 0x93 || text(1, 6) !== "NUMPY") {
        try {
            return JSON.parse(new TextDecoder().decode(buffer));
        } catch {
            throw new Error(`${file.name} is no .npy file, and no JSON`);
        }
    }
    const begins = 10 + view.getUint16(8, true), header = text(10, begins);
    const [read, size] = READERS[header.match(/'descr': '([^']*)'/)?.[1]] ?? [];
    if (view.getUint8(6) !== 1 || !read || begins > buffer.byteLength || /'fortran_order': True/.test(header)) throw new Error(`${file.name}: its elements must be floats or integers, little-endian and in C order`);
    const said = header.match(/'shape': \(([^)]*)\)/)?.[1].split(",").map((size) => size.trim()).filter(Boolean).join("×");
    if (shape && said !== shape.join("×")) throw new Error(`${file.name} has the shape ${said || "of one number"}, not ${shape.join("×") || "of one number"}`);
    return Array.from({ length: Math.floor((buffer.byteLength - begins) / size) }, (_, i) => Number(view[read](begins + i * size, true)));
}

/** @returns inputs by name; those without a file are missing */
async function inputsOf(fields) {
    const inputs = {};
    for (const [{ name, shape }, field] of fields) if (field.files[0]) inputs[name] = await numbersIn(field.files[0], shape);
    return inputs;
}

function showOutputs(place, outputs) {
    place.replaceChildren(...Object.entries(outputs).map(([name, output]) => {
        const item = element("li", `${name}, ${shapeOf(output)}: `), shown = [...output.data.slice(0, MOST_SHOWN)].map((x) => Number(x.toPrecision(6)));
        item.append(element("code", `${shown.join(", ")}${output.data.length > MOST_SHOWN ? " …" : ""}`));
        return item;
    }));
}

function save(name, outputs) {
    const plain = Object.fromEntries(Object.entries(outputs).map(([key, { shape, data }]) => [key, { shape, data: [...data] }]));
    const link = element("a", "", { href: URL.createObjectURL(new Blob([JSON.stringify(plain)], { type: "application/json" })), download: name });
    link.click();
    URL.revokeObjectURL(link.href);
}

let leave = () => {}; // the program in the dialog

/** Opens the file and shows it in the dialog until that is closed. */
export async function showProgram(solo, dialog, file) {
    const program = await solo.openProgram(file), fields = new Map();
    const facts = `${program.nodes} nodes of ATen, as ${program.dispatches} ${program.dispatches === 1 ? "dispatch" : "dispatches"} a run (${program.level}), ${bytes(program.gpu_bytes)} on the device`;
    const head = element("form", "", { method: "dialog" }), inputs = element("ul"), outputs = element("ul"), row = element("p", "", { className: "row" });
    head.append(element("h2", file.name, { id: "program-title" }), element("button", "✕", { ariaLabel: "Close" }));
    for (const port of program.inputs) {
        const item = element("li"), label = element("label", `${port.name}, ${shapeOf(port)} `), field = element("input", "", { type: "file", accept: ".npy,.json" });
        label.append(field);
        item.append(label);
        inputs.append(item);
        fields.set(port, field);
    }
    const run = element("button", "Run", { type: "button" }), again = element("button", "Begin anew", { type: "button", hidden: !program.states.length });
    const keep = element("button", "Save the outputs", { type: "button", hidden: true }), said = element("span", "", { className: "soft", role: "status" });
    row.append(run, again, keep, said);
    const acting = (act) => async () => {
        run.disabled = again.disabled = true;
        try {
            said.textContent = await act();
        } catch (error) {
            said.textContent = error.message;
        }
        run.disabled = again.disabled = false;
    };
    run.onclick = acting(async () => {
        const given = await inputsOf(fields), began = performance.now(), made = await program.run(given, { seed: 1 });
        showOutputs(outputs, made);
        keep.hidden = false;
        keep.onclick = () => save(file.name.replace(/\.pt2$/, ".json"), made);
        return `took ${seconds((performance.now() - began) / 1000)}, with its inputs and outputs`;
    });
    again.onclick = acting(() => program.reset().then(() => `its ${program.states.length} states are as the file has them`));
    dialog.replaceChildren(head, element("p", facts, { className: "soft" }), element("h3", "Inputs"), element("p", "From .npy or JSON files; those without one get random numbers.", { className: "soft" }), inputs, row, outputs);
    leave(); // another program may be in it
    leave = () => program.close().catch(() => {});
    dialog.onclose = () => dialog.open || leave(); // browsers say so with their next picture, when another one may be shown
    if (!dialog.open) dialog.showModal();
}
