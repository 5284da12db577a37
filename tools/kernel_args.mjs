// The names that kernels and C share: arguments and their values from kernels/args.txt, functions from the enums of
// src/graph/graph.h, and the constants that lowering may set, from the kernels themselves (docs/kernels.md).
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const ROOT = "kernels", TABLE = "kernels/args.txt", ENUMS = "src/graph/graph.h";
export const KERNEL_FOLDERS = ["graph", "include", "weight"];

// Every mistake is reported with its file and line, and fails the build.
let mistakes = 0;
function mistake(path, line, text) {
    console.error(`${path}:${line}: ${text}`);
    mistakes++;
}
export function stopAtMistakes() {
    if (mistakes) process.exit(1);
}

const patternOf = (glob) => new RegExp(`^${glob.replace(/[.]/g, "\\.").replace(/[*]/g, "\\w*")}$`);

// [{ files: [RegExp], names: [{ name, value, meaning }] }]
function readTable() {
    const records = [];
    for (const [i, line] of readFileSync(TABLE, "utf8").split("\n").entries()) {
        const [, begin, files] = line.match(/^(record|values) (.+)$/) ?? [];
        const [, value, name, meaning] = line.match(/^(\d+) +([A-Z]\w+)(?: +(.*))?$/) ?? [];
        if (begin) records.push({ files: files.split(" "), patterns: files.split(" ").map(patternOf), names: [] });
        else if (name && records.length) {
            if (records.some((r) => r.names.some((other) => other.name === name))) mistake(TABLE, i + 1, `${name} is there twice`);
            records.at(-1).names.push({ name, value: Number(value), meaning });
        } else if (line && !line.startsWith("#")) mistake(TABLE, i + 1, "neither a record nor a number and a name");
    }
    return records;
}

// Enumerators of graph.h that kernels may name, with their values: all of them count from 0.
function readEnums() {
    const names = new Map();
    for (const [, list] of readFileSync(ENUMS, "utf8").replace(/\/\*.*?\*\//gs, "").matchAll(/typedef enum \{([^}]*)\} \w+_kind;/g))
        list.split(",").map((name) => name.trim()).filter(Boolean).forEach((name, value) => names.set(name, value));
    return names;
}

const records = readTable(), enums = readEnums();
const kernelTexts = KERNEL_FOLDERS.flatMap((folder) => readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".wgsl"))
    .map((name) => readFileSync(join(ROOT, folder, name), "utf8")));
const namesOf = (declaration) => new Set(kernelTexts.flatMap((text) => [...text.matchAll(declaration)].map((match) => match[1])));
const declared = namesOf(/^(?:const|override) (\w+)/gm);
export const overrideNames = [...namesOf(/^override (\w+)/gm)].sort();
// SUBGROUP is added before a kernel's text, EPOCH_MARKED and PHASE_WORDS before a megakernel's; ARRAY is what an include names.
for (const name of ["SUBGROUP", "ALONE", "SLOTTED", "EPOCH_MARKED", "PHASE_WORDS", "ARRAY"]) declared.add(name);

function valuesFor(path) {
    const values = new Map(enums);
    for (const record of records.filter((r) => r.patterns.some((pattern) => pattern.test(path))))
        for (const { name, value } of record.names) values.set(name, value);
    return values;
}

// Sums of names and numbers become one number, and + 0 disappears, so that names cost a kernel nothing: `s + STEP_KIND`
// is `s`, and `PART_STEPS + STEP_SIZE` is `20u`.
function fold(code, values) {
    const name = `(?:${[...values.keys()].join("|")})`, number = "\\d+u\\b", term = `\\b(?:${name}\\b|${number})`;
    const value = (word) => values.get(word) ?? parseInt(word, 10);
    return code
        .replace(new RegExp(`\\b(${name}) / (${name}\\b|${number})`, "g"), (_, a, b) => `${value(a) / value(b)}u`)
        .replace(new RegExp(`(?<![*/%] )\\b${name}\\b(?! [*/%])(?: [-+] ${term}(?! [*/%]))*`, "g"), (sum) =>
            `${sum.split(/ (?=[-+])/).reduce((total, part) => (part.startsWith("-") ? total - value(part.slice(2)) : total + value(part.replace("+ ", ""))), 0)}u`)
        .replace(new RegExp(`\\b${name}\\b`, "g"), (word) => `${value(word)}u`)
        .replace(/ \+ 0u(?=[),;])/g, "");
}

// A file's text with numbers in place of the table's names. `arg(args, NAME)` becomes `arg(args, 7)`, which is what the
// megakernel's linker looks for (src/graph/megakernel_link.c).
export function resolveNames(path, text) {
    const values = valuesFor(path);
    return text.split("\n").map((line, i) => {
        const end = line.search(/\/\//), code = end < 0 ? line : line.slice(0, end);
        if (line.startsWith("//!")) return line;
        for (const [word] of code.matchAll(/\b[A-Z][A-Z0-9_]+\b/g))
            if (!values.has(word) && !declared.has(word))
                mistake(join(ROOT, path), i + 1, `${word} is neither an argument of this file (${TABLE}) nor a constant`);
        for (const [word] of code.matchAll(/(?<=^(?:const|override) )\w+/g))
            if (values.has(word)) mistake(join(ROOT, path), i + 1, `${word} is a name of ${TABLE} already`);
        if (/\barg(_float)?\(args, *\d/.test(code)) mistake(join(ROOT, path), i + 1, `an argument without a name (${TABLE})`);
        if (/\barg(_float)?\(args,\s*$/.test(code)) mistake(join(ROOT, path), i + 1, "arg(args, NAME) has to stand on one line");
        const plain = code.replace(/\b(arg|arg_float)\(args, (\w+)\)/g, (call, fn, name) => (values.has(name) ? `${fn}(args, ${values.get(name)})` : call));
        return fold(plain, values) + (end < 0 ? "" : line.slice(end));
    }).join("\n");
}

// build/gen/kernel_args.h: the same names for C.
export function argsHeader() {
    let h = `/* Made by tools/kernels.mjs from ${TABLE} and kernels/. */\n#ifndef SOLO_KERNEL_ARGS_H\n#define SOLO_KERNEL_ARGS_H\n`;
    for (const { files, names } of records)
        h += `\n/* ${files.join(", ").replaceAll("*", "...")} */\nenum {\n${names.map(({ name, value, meaning }) => `    ${name} = ${value},${meaning ? ` /* ${meaning} */` : ""}\n`).join("")}};\n`;
    h += `\n/* The constants that kernels declare with "override". */\nenum { KERNEL_MAX_CONSTANTS = ${overrideNames.length} };\n`;
    for (const name of overrideNames) h += `#define CONSTANT_${name} ((kernel_constant_name){"${name}"})\n`;
    return `${h}\n#endif\n`;
}
