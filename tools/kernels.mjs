// Puts the kernels into the binary: kernels/*/NAME.wgsl with its includes, the
// SPIR-V naga makes of it (for the bare-Vulkan control) and NAME.cu beside it
// (for the CUDA control) become one `const gpu_source kernel_NAME` in C.
//
//     node tools/kernels.mjs OUT.c OUT.h
//
// In a kernel, `//!include "FILE"` takes in kernels/include/FILE, and
// `//!wgsl-only` says that no other language is wanted.
import { readFileSync, writeFileSync, readdirSync, existsSync } from "node:fs";
import { join } from "node:path";
import { parseWgsl, validate, writeSpirv } from "naga-wasm";

const [, , outC, outH] = process.argv;
const ROOT = "kernels";

function expand(path) {
    return readFileSync(path, "utf8").replace(/^\/\/!include "(.+)"$/gm, (_, file) => expand(join(ROOT, "include", file)));
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

const cString = (text) => text.trimEnd().split("\n").map((line) => `    ${JSON.stringify(line + "\n")}`).join("\n");

let c = `/* Made by tools/kernels.mjs from kernels/. */\n#include "kernels.h"\n`;
let h = `/* Made by tools/kernels.mjs from kernels/. */\n#ifndef SOLO_KERNELS_H\n#define SOLO_KERNELS_H\n\n#include "gpu/gpu.h"\n\n`;
for (const group of readdirSync(ROOT).sort().filter((name) => name !== "include")) {
    for (const file of readdirSync(join(ROOT, group)).sort().filter((name) => name.endsWith(".wgsl"))) {
        const name = file.slice(0, -".wgsl".length), path = join(ROOT, group, file);
        const wgsl = expand(path), wgslOnly = /^\/\/!wgsl-only$/m.test(wgsl);
        const cuPath = path.replace(/\.wgsl$/, ".cu"), cuda = !wgslOnly && existsSync(cuPath) ? expand(cuPath) : null;
        const words = wgslOnly ? null : toSpirv(path, wgsl);
        h += `extern const gpu_source kernel_${name};\n`;
        if (words) c += `\nstatic const uint32_t ${name}_spirv[] = {${words.map((w) => "0x" + (w >>> 0).toString(16)).join(",")}};\n`;
        c += `\nconst gpu_source kernel_${name} = {\n  .name = "${group}/${name}",\n  .wgsl =\n${cString(wgsl)},\n`;
        if (words) c += `  .spirv = ${name}_spirv,\n  .spirv_bytes = sizeof ${name}_spirv,\n`;
        if (cuda) c += `  .cuda =\n${cString(cuda)},\n`;
        c += `};\n`;
    }
}
writeFileSync(outC, c);
writeFileSync(outH, h + "\n#endif\n");
