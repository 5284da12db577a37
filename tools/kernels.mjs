// Puts the kernels into the binary: kernels/*/NAME.wgsl with its includes, the
// SPIR-V naga makes of it (for the bare-Vulkan control) and NAME.cu beside it
// (for the CUDA control) become one `const gpu_source kernel_NAME` in C.
//
//     node tools/kernels.mjs OUT.c OUT.h [web|sim]
//
// For a page it is WGSL and nothing else, without comments and most of its indentation: those of models (web), or those
// of simulations (sim), which stay as they are, since errors name their lines.
//
// In a kernel, `//!include "FILE"` takes in kernels/include/FILE (kernels/FILE if
// there is a / in it), with ` ARRAY=NAME` behind it with that name for ARRAY, and `//!wgsl-only` says that no other language is wanted.
//
// The kernels of graphs (kernels/graph) come in variants: TYPE in an include stands
// for a weight type, REDUCE and EXCHANGE for how threads add up and exchange what they have. Their files go into the binary
// as they are, as `kernel_files`, and src/graph/kernel_text.c puts them together;
// beside them, as `kernel_binaries`, the SPIR-V of every type's plain variant. So do simulations
// (kernels/sim) and what is added to them (kernels/sim_runtime), with their CUDA controls.
import { readFileSync, writeFileSync, readdirSync, existsSync } from "node:fs";
import { join } from "node:path";
import { parseWgsl, validate, writeSpirv } from "naga-wasm";

const [, , outC, outH, host] = process.argv;
const forPage = host !== undefined, forSims = host === "sim";
const ROOT = "kernels";

const VARIED = "graph";

function expand(path, type = "", how = "shared") {
    return readFileSync(path, "utf8").replace(/^\/\/!include "(.+?)"(?: ARRAY=(\w+))?$/gm, (_, name, array) => {
        const file = name.replace("TYPE", type).replace("REDUCE", how).replace("EXCHANGE", "xor");
        const text = expand(file.includes("/") ? join(ROOT, file) : join(ROOT, "include", file), type, how);
        return array ? text.replaceAll("ARRAY", array) : text;
    });
}

// WGSL promises zeroed workgroup memory, and naga keeps the promise with one
// thread that stores the zeros. A program written for Vulkan would not: for the
// control, those stores are taken out.
function dropWorkgroupZeroing(words) {
    const HEADER = 5, VARIABLE = 59, CONSTANT_NULL = 46, STORE = 62, WORKGROUP = 4;
    const nulls = new Set(), shared = new Set(), kept = words.slice(0, HEADER);
    for (let i = HEADER; i < words.length; i += words[i] >>> 16) {
        const opcode = words[i] & 0xffff;
        if (opcode === CONSTANT_NULL) nulls.add(words[i + 2]);
        if (opcode === VARIABLE && words[i + 3] === WORKGROUP) shared.add(words[i + 2]);
        if (opcode === STORE && shared.has(words[i + 1]) && nulls.has(words[i + 2])) continue;
        kept.push(...words.slice(i, i + (words[i] >>> 16)));
    }
    return kept;
}

function toSpirv(path, wgsl) {
    try {
        const module = parseWgsl(wgsl);
        return dropWorkgroupZeroing(Array.from(writeSpirv(module, validate(module))));
    } catch (error) {
        console.error(`${path}: does not turn into SPIR-V: ${error.message ?? error}`);
        process.exit(1);
    }
}

// Without comments, and without the spaces and ends of lines that only people need: what src/graph looks for (declarations at the
// beginning of a line, const NAME = VALUE, arg(args, N)) stays.
const isWord = (c) => /\w/.test(c), isSign = (c) => /[-+&|<>=!/*%^]/.test(c);
const shorterLine = (line) => line.replace(/(?<=(.)) (?=(.))/g, (_, a, b) => ((isWord(a) && isWord(b)) || (isSign(a) && isSign(b)) ? " " : ""))
    .replace(/(?<!\w)arg\(args,(?=\d)/g, "arg(args, ");
// What is declared has a short name then, unless its own is short, or C may know it.
const allTexts = (folder, ending) => readdirSync(folder, { recursive: true }).sort().filter((name) => ending.test(name)).map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
function nameShorter() {
    const text = allTexts(ROOT, /^(graph|include|weight)\/.*\.wgsl$/), known = new Set(allTexts("src", /\.[ch]$/).replace(/\\n/g, " ").match(/\w+/g));
    const declared = /(?:^(?:fn|struct|var<[^>]*>)|\b(?:let|var)) (\w{5,})(?=[ (:])|\b([a-z]\w{4,})(?=: [a-z])/gm; // the latter: parameters and members
    const names = new Set([...text.replace(/\/\/(?!!).*/g, "").matchAll(declared)].map((match) => match[1] ?? match[2]).filter((name) => !known.has(name)));
    const short = new Map([...names].map((name, i) => [name, `${i.toString(36)}_`.replace(/^\d/, "z$&")]));
    return (line) => (line.startsWith("//!include") ? line : line.replace(/\w+/g, (word) => short.get(word) ?? word));
}
const withShortNames = forPage ? nameShorter() : null;
function shorter(text) {
    const lines = [];
    for (const line of text.replace(/^( *)(.*?)\s*(\/\/(?!!).*)?$/gm, "$1$2").split("\n").map(withShortNames)) {
        const inside = /^[ }]/.test(line) && lines.length && !lines.at(-1).startsWith("//!"); // of a function or struct
        if (inside) lines.push(`${lines.pop()} ${line.trim()}`);
        else if (line && line !== "//!wgsl-only") lines.push(line.trim());
    }
    const kept = /^(\/\/!|const )/, declared = /^var<\w+> /;
    return lines.map((line) => (kept.test(line) ? line : (line.match(declared) ?? "") + shorterLine(line.replace(declared, "")))).join("\n") + "\n";
}
const wgslText = (text) => cString(forPage && !forSims ? shorter(text) : text);
const cString = (text) => text.trimEnd().split("\n").map((line) => `    ${JSON.stringify(line + "\n")}`).join("\n");

const cWords = (name, words) => `\nstatic const uint32_t ${name}[] = {${words.map((w) => "0x" + (w >>> 0).toString(16)).join(",")}};\n`;
const files = (folder, ending) => readdirSync(join(ROOT, folder)).sort().filter((name) => name.endsWith(ending));
const wgslFiles = (folder) => files(folder, ".wgsl");
const stem = (file) => file.slice(0, -".wgsl".length);

let c = `/* Made by tools/kernels.mjs from kernels/. */\n#include "kernels.h"\n`;
let h = `/* Made by tools/kernels.mjs from kernels/. */\n#ifndef SOLO_KERNELS_H\n#define SOLO_KERNELS_H\n\n#include "gpu/gpu.h"\n
typedef struct kernel_file {
    const char *path, *text;
} kernel_file;
extern const kernel_file kernel_files[]; /* ended by a path of NULL */

typedef struct kernel_binary {
    const char *name; /* "op_rope", "matmul_vec.q4_0" */
    const uint32_t *spirv;
    size_t bytes;
} kernel_binary;
extern const kernel_binary kernel_binaries[]; /* ended by a name of NULL */\n\n`;

for (const group of readdirSync(ROOT).sort().filter((name) => !["include", "weight", "sim", "sim_runtime", VARIED].includes(name))) {
    for (const file of wgslFiles(group)) {
        const name = stem(file), path = join(ROOT, group, file);
        const wgsl = expand(path), wgslOnly = /^\/\/!wgsl-only$/m.test(wgsl);
        const cuPath = path.replace(/\.wgsl$/, ".cu"), cuda = !wgslOnly && !forPage && existsSync(cuPath) ? expand(cuPath) : null;
        const words = wgslOnly || forPage ? null : toSpirv(path, wgsl);
        h += `extern const gpu_source kernel_${name};\n`;
        if (words) c += cWords(`${name}_spirv`, words);
        c += `\nconst gpu_source kernel_${name} = {\n  .name = "${group}/${name}",\n  .wgsl =\n${wgslText(wgsl)},\n`;
        if (words) c += `  .spirv = ${name}_spirv,\n  .spirv_bytes = sizeof ${name}_spirv,\n`;
        if (cuda) c += `  .cuda =\n${cString(cuda)},\n`;
        c += `};\n`;
    }
}

// Of kernels/include those that kernels of graphs include, or C adds by name: stand-alone kernels contain theirs already.
function includesWanted() {
    const all = wgslFiles("include"), taken = new Set(), text = (folder, file) => readFileSync(join(ROOT, folder, file), "utf8");
    const take = (from) => {
        for (const [, name] of from.matchAll(/\binclude[ /]"?(\w+\.wgsl)"/g)) {
            const named = new RegExp(`^${name.replace(/REDUCE|EXCHANGE|XTYPE/, "\\w+")}$`);
            for (const file of all.filter((other) => named.test(other) && !taken.has(other))) {
                taken.add(file);
                take(text("include", file));
            }
        }
    };
    if (!forSims) take(wgslFiles(VARIED).map((file) => text(VARIED, file)).join("\n") + allTexts("src/graph", /\.c$/));
    if (!forPage || forSims) take(allTexts("src/sim", /\.c$/));
    return all.filter((file) => taken.has(file));
}

c += `\nconst kernel_file kernel_files[] = {\n`;
for (const folder of ["include", ...(forSims ? [] : [VARIED, "weight"]), ...(forPage && !forSims ? [] : ["sim", "sim_runtime"])])
    for (const file of [...(folder === "include" ? includesWanted() : wgslFiles(folder)), ...(folder.startsWith("sim") && !forPage ? files(folder, ".cu") : [])]) c += `  {"${folder}/${file}",\n${wgslText(readFileSync(join(ROOT, folder, file), "utf8"))}},\n`;
c += `  {0}};\n`;

let list = "";
for (const file of forPage ? [] : wgslFiles(VARIED)) {
    const path = join(ROOT, VARIED, file), text = readFileSync(path, "utf8"), typed = text.includes("TYPE.wgsl");
    if (/^\/\/!wgsl-only$/m.test(text)) continue;
    for (const type of typed ? wgslFiles("weight").map(stem).filter((name) => !/_(words|fours)$/.test(name)) : [""]) {
        const symbol = `${stem(file)}_${type}_spirv`;
        c += cWords(symbol, toSpirv(`${path} ${type}`, expand(path, type)));
        list += `  {"${stem(file)}${type && "." + type}", ${symbol}, sizeof ${symbol}},\n`;
    }
}
c += `\nconst kernel_binary kernel_binaries[] = {\n${list}  {0}};\n`;
writeFileSync(outC, c);
writeFileSync(outH, h + "\n#endif\n");
