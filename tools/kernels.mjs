// Puts the kernels into the binary (docs/kernels.md describes their dialect). Two steps, since C expands kernels, here
// and at run time:
//
//     node tools/kernels.mjs sources FOLDER      FOLDER/kernel_args.h, kernels.h, and kernel_sources.c for the next step
//     node tools/kernels.mjs OUT.c [web|sim|torch]    the kernels as C, with the help of expand_kernel beside OUT.c
//                                                (tools/expand_kernel.c with kernel_sources.c)
//
// A kernel that stands alone (kernels/lab, kernels/probe), the SPIR-V naga makes of it (for the bare-Vulkan control) and
// NAME.cu beside it (for the CUDA control) become one `const gpu_source kernel_NAME`.
//
// The kernels of graphs (kernels/graph, with kernels/include and kernels/weight) come in variants: their files go into the
// binary as `kernel_files`, and src/graph/kernel_text.c puts them together; beside them, as `kernel_binaries`, the SPIR-V
// of every weight type's plain variant. `kernel_files` also has the simulations (kernels/sim) and what is added to them
// (kernels/sim_runtime), with their CUDA controls.
//
// For a page it is WGSL and nothing else, without comments and most of its indentation: those of models (web), those of
// PyTorch's programs (torch), or those of simulations (sim), which stay as they are, since errors name their lines.
import { readFileSync, writeFileSync, readdirSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { spawnSync } from "node:child_process";
import { packText } from "./pack_text.mjs";
import { argsHeader, KERNEL_FOLDERS, overrideNames, resolveNames, stopAtMistakes } from "./kernel_args.mjs";

const ROOT = "kernels", VARIED = "graph";
const [, , outC, option] = process.argv;
const forPage = option !== undefined, forSims = option === "sim", forTorch = option === "torch";

const files = (folder, ending) => readdirSync(join(ROOT, folder)).sort().filter((name) => name.endsWith(ending));
const wgslFiles = (folder) => files(folder, ".wgsl");
const stem = (file) => file.slice(0, -".wgsl".length);
const textOf = (path) => readFileSync(join(ROOT, path), "utf8");
const resolved = (path) => (KERNEL_FOLDERS.includes(dirname(path)) && path.endsWith(".wgsl") ? resolveNames(path, textOf(path)) : textOf(path));
const folders = readdirSync(ROOT, { withFileTypes: true }).filter((entry) => entry.isDirectory()).map((entry) => entry.name).sort();
const standAlone = folders.filter((name) => ![...KERNEL_FOLDERS, "sim", "sim_runtime"].includes(name));
const isWgslOnly = (text) => /^\/\/!wgsl-only$/m.test(text);
const cString = (text) => text.trimEnd().split("\n").map((line) => `    ${JSON.stringify(line + "\n")}`).join("\n");
const MADE = `/* Made by tools/kernels.mjs from kernels/. */\n`;

// So that what includes a header is not compiled again for nothing.
function writeIfChanged(path, text) {
    if (!existsSync(path) || readFileSync(path, "utf8") !== text) writeFileSync(path, text);
}

if (outC === "sources") {
    const paths = [...KERNEL_FOLDERS, ...standAlone].flatMap((folder) => [...wgslFiles(folder), ...files(folder, ".cu")].map((file) => `${folder}/${file}`));
    const sources = paths.map((path) => `  {"${path}",\n${cString(resolved(path))}},\n`).join("");
    const header = argsHeader();
    stopAtMistakes();
    writeIfChanged(join(option, "kernel_args.h"), header);
    writeIfChanged(join(option, "kernels.h"), `${MADE}#ifndef SOLO_KERNELS_H
#define SOLO_KERNELS_H

#include "gpu/gpu.h"

typedef struct kernel_file {
    const char *path, *text;
} kernel_file;
extern const kernel_file kernel_files[]; /* ended by a path of NULL */
void kernel_files_ready(void);           /* before a text is read: a page has them packed */

typedef struct kernel_binary {
    const char *name; /* "op_rope", "matmul_vec.q4_0" */
    const uint32_t *spirv;
    size_t bytes;
} kernel_binary;
extern const kernel_binary kernel_binaries[]; /* ended by a name of NULL */

${standAlone.flatMap(wgslFiles).map((file) => `extern const gpu_source kernel_${stem(file)};\n`).join("")}
#endif
`);
    writeFileSync(join(option, "kernel_sources.c"), `${MADE}#include "kernels.h"\n
const kernel_file kernel_files[] = {\n${sources}  {0}};\nconst kernel_binary kernel_binaries[] = {{0}};
void kernel_files_ready(void) {}\n`);
    process.exit(0);
}

const { parseWgsl, validate, writeSpirv } = await import("naga-wasm");

// The expanded texts of [path, weight type or ""], in the same order.
function expandAll(wanted) {
    const run = spawnSync(join(dirname(outC), "expand_kernel"), { input: wanted.map(([path, type]) => `${path} ${type || "-"}\n`).join(""), encoding: "utf8", maxBuffer: 1 << 28 });
    if (run.status !== 0) {
        console.error(run.stderr || run.error);
        process.exit(1);
    }
    return run.stdout.split("\0").slice(0, wanted.length);
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

// Without comments, and without the spaces and ends of lines that only people need: what src/graph looks for (declarations
// at the beginning of a line, const NAME = VALUE, arg(args, N)) stays.
const isWord = (c) => /\w/.test(c), isSign = (c) => /[-+&|<>=!/*%^]/.test(c);
const shorterLine = (line) => line.replace(/(?<=(.)) (?=(.))/g, (_, a, b) => ((isWord(a) && isWord(b)) || (isSign(a) && isSign(b)) ? " " : ""))
    .replace(/(?<!\w)arg\(args,(?=\d)/g, "arg(args, ");
// What is declared has a short name then, unless its own is short, it is an entry point, or C
// assembles kernels by it: strings of those files, and the constants that C sets.
const allTexts = (folder, ending) => readdirSync(folder, { recursive: true }).sort().filter((name) => ending.test(name)).map((name) => readFileSync(join(folder, name), "utf8")).join("\n");
function nameShorter() {
    const text = allTexts(ROOT, /^(?!sim).*\.wgsl$/).replace(/\/\/(?!!).*/g, "");
    const inC = allTexts("src", /^(graph\/(kernel_text|megakernel)|launch\/(kernel_file|litmus)).*\.[ch]$/).replace(/\/\*[^]*?\*\//g, "").match(/"(?:[^"\\\n]|\\.)*"/g).join(" ");
    const entryPoints = [...text.matchAll(/^fn (\w+)\(@builtin/gm)].map((match) => match[1]);
    const known = new Set([...inC.replace(/\\n/g, " ").match(/\w+/g), ...overrideNames, ...entryPoints]);
    const declared = /(?:^(?:fn|struct|const|var<[^>]*>)|\b(?:let|var)) (\w{4,})(?=[ (:])|\b([a-z]\w{3,})(?=: [a-z])/gm; // the latter: parameters and members
    const names = new Set([...text.matchAll(declared)].map((match) => match[1] ?? match[2]).filter((name) => !known.has(name) && !name.includes("ARRAY"))); // which an include replaces
    for (const [, name] of text.matchAll(/\b(\w+)\(/g)) if (!new RegExp(`\\bfn ${name}\\b`).test(text)) names.delete(name); // WGSL's own
    const uses = new Map();
    for (const [word] of text.matchAll(/\w+/g)) uses.set(word, (uses.get(word) ?? 0) + 1);
    const nth = (i) => (i < 26 ? "" : nth(Math.floor(i / 26) - 1)) + String.fromCharCode(97 + (i % 26));
    const short = new Map([...names].sort((a, b) => uses.get(b) - uses.get(a)).map((name, i) => [name, `${nth(i)}_`]));
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
    const kept = /^(?:\/\/!.*|(?:const|override) \w+ = |var<\w+> )/;
    return lines.map((line) => (line.match(kept)?.[0] ?? "") + shorterLine(line.replace(kept, ""))).join("\n") + "\n";
}
// What Solo adds to a simulation keeps its names, which stand beside a user's; a user's own file stays as it is, since errors name its lines.
const withoutComments = (text) => text.replace(/[ \t]*\/\/(?!!).*$/gm, "").replace(/^\s*\n/gm, "");
// A page continues one text at a time.
const aloneText = (text) => text.replace(/^\/\/!for _ SLOTTED\n[^]*?^\/\/!end\n/gm, "").replace(/^\/\/!for _ ALONE\n([^]*?)^\/\/!end\n/gm, "$1");
const pageText = (text, path) => (!forPage || path.startsWith("sim/") ? text : forSims ? withoutComments(text) : shorter(aloneText(text)));
const cWords = (name, words) => `\nstatic const uint32_t ${name}[] = {${words.map((w) => "0x" + (w >>> 0).toString(16)).join(",")}};\n`;

let c = `${MADE}#include "kernels.h"\n`;

const alone = standAlone.flatMap((folder) => wgslFiles(folder).map((file) => ({ name: stem(file), path: `${folder}/${file}`, cuda: `${folder}/${stem(file)}.cu` })));
const withCuda = alone.filter((kernel) => !forPage && !isWgslOnly(textOf(kernel.path)) && existsSync(join(ROOT, kernel.cuda)));
const aloneTexts = expandAll(alone.map((kernel) => [kernel.path, ""])), cudaTexts = expandAll(withCuda.map((kernel) => [kernel.cuda, ""]));
// Many kernels contain this file: a page has its text once.
const PERSISTENT = "include/persistent.wgsl", shared = forPage ? pageText(resolved(PERSISTENT), PERSISTENT) : null;
if (shared) c += `\nstatic const char persistent_text[] =\n${cString(shared)};\n`;
for (const [i, kernel] of alone.entries()) {
    const cuda = cudaTexts[withCuda.indexOf(kernel)];
    const words = forPage || isWgslOnly(aloneTexts[i]) ? null : toSpirv(kernel.path, aloneTexts[i]);
    if (words) c += cWords(`${kernel.name}_spirv`, words);
    const text = pageText(aloneTexts[i], kernel.path);
    c += `\nconst gpu_source kernel_${kernel.name} = {\n  .name = "${kernel.path.replace(".wgsl", "")}",\n  .wgsl =\n${cString(shared ? text.replace(shared, "") : text)},\n`;
    if (shared && text.includes(shared)) c += `  .shared = persistent_text,\n`;
    if (words) c += `  .spirv = ${kernel.name}_spirv,\n  .spirv_bytes = sizeof ${kernel.name}_spirv,\n`;
    if (cuda) c += `  .cuda =\n${cString(cuda)},\n`;
    c += `};\n`;
}

// Of kernels/include those that kernels of graphs include, or C adds by name: stand-alone kernels contain theirs already.
function includesWanted() {
    const all = wgslFiles("include"), taken = new Set(), text = (folder, file) => readFileSync(join(ROOT, folder, file), "utf8");
    const take = (from) => {
        for (const [, name] of from.matchAll(/\binclude[ /]"?(\w+\.wgsl)"/g)) {
            const named = new RegExp(`^${name.replace(/REDUCE|EXCHANGE|XTYPE|UNITS/, "\\w+")}$`);
            for (const file of all.filter((other) => named.test(other) && !taken.has(other))) {
                taken.add(file);
                take(text("include", file));
            }
        }
    };
    if (!forSims) take(wgslFiles(VARIED).filter((file) => !forPage || isOfPage(file)).map((file) => (forPage ? aloneText : String)(text(VARIED, file))).join("\n") + allTexts("src/graph", /\.c$/));
    if (!forPage || forSims) take(allTexts("src/sim", /\.c$/));
    return all.filter((file) => taken.has(file));
}

// What programs have no weights in, and no operators for: they choose no tokens and no experts.
function isOfTorch(file) {
    return !/^(q\d|tq|iq|mxfp4|op_(sample|delta|experts|mix|pick|route|topk|conv|attention_whole|heads|join|weigh)|matmul_slots)/.test(file);
}
// Types that a page does not read (src/graph/type_iq.h), and what only embeddings and DeepSeek need (src/web/unavailable.c).
const isOfPage = forTorch ? isOfTorch : (file) => !/^(iq[123]_|op_sample_(scan_)?rows|matmul_slots|op_attention_whole|op_map|op_contract|op_pool|op_heads|op_join|op_weigh)/.test(file);
const packs = forPage && !forSims; // into one text, which is unpacked when it is first needed
let all = "", list_of_files = "";
for (const folder of ["include", ...(forSims ? [] : [VARIED, "weight"]), ...(forPage && !forSims ? [] : ["sim", "sim_runtime"])])
    for (const file of [...(folder === "include" ? includesWanted() : wgslFiles(folder).filter((name) => !forPage || isOfPage(name))), ...(folder.startsWith("sim") && !forPage ? files(folder, ".cu") : [])]) {
        const path = `${folder}/${file}`, text = pageText(resolved(path), `${folder}/`);
        if (shared && path === PERSISTENT) list_of_files += `  {"${path}", persistent_text},\n`;
        else if (packs) {
            list_of_files += `  {"${path}", texts + ${all.length}},\n`;
            all += `${text.trimEnd()}\n\0`;
        } else list_of_files += `  {"${path}",\n${cString(text)}},\n`;
    }
if (packs) {
    const bytes = packText(Buffer.from(all, "latin1"));
    c += `\n#include "base/unpack.h"\n\nstatic char texts[${all.length}];\nstatic const uint8_t packed[] = {${bytes.join(",")}};\n`;
    c += `void kernel_files_ready(void)\n{\n    if (!texts[0])\n        unpack_text(packed, sizeof packed, texts, sizeof texts);\n}\n`;
} else c += `\nvoid kernel_files_ready(void) {}\n`;
c += `\nconst kernel_file kernel_files[] = {\n${list_of_files}`;
c += `  {0}};\n`;

// In the plain variant of each weight type; those for software read the weights of another type in smaller pieces.
const TYPES = wgslFiles("weight").map(stem).filter((name) => !/_(words|vec4)$/.test(name));
const plain = (forPage ? [] : wgslFiles(VARIED)).filter((file) => !isWgslOnly(textOf(`${VARIED}/${file}`)))
    .flatMap((file) => (textOf(`${VARIED}/${file}`).includes("weight/TYPE.wgsl") ? TYPES : [""]).map((type) => [`${VARIED}/${file}`, type, stem(file)]));
let list = "";
for (const [i, text] of expandAll(plain).entries()) {
    const [path, type, name] = plain[i], symbol = `${name}_${type}_spirv`;
    c += cWords(symbol, toSpirv(`${path} ${type}`, text));
    list += `  {"${name}${type && "." + type}", ${symbol}, sizeof ${symbol}},\n`;
}
c += `\nconst kernel_binary kernel_binaries[] = {\n${list}  {0}};\n`;
stopAtMistakes();
writeFileSync(outC, c);
