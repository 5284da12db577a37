// Writes src/model/unicode_tables.c: the classes of Unicode characters that
// pre-tokenizers ask for, as runs, from the tables this JavaScript engine has.
//
//     node tools/unicode.mjs > src/model/unicode_tables.c
const CLASSES = [
    ["UPPER", /[\p{Lu}\p{Lt}]/u],
    ["LOWER", /\p{Ll}/u],
    ["CASELESS", /[\p{Lm}\p{Lo}]/u],
    ["MARK", /\p{M}/u],
    ["NUMBER", /\p{N}/u],
    ["PUNCTUATION", /\p{P}/u],
    ["SYMBOL", /\p{S}/u],
    ["SPACE", /\p{White_Space}/u],
];

const isSurrogate = (point) => point >= 0xd800 && point < 0xe000;

function classOf(point) {
    if (isSurrogate(point)) return 0;
    const text = String.fromCodePoint(point);
    return CLASSES.reduce((bits, [, pattern], i) => (pattern.test(text) ? bits | (1 << i) : bits), 0);
}

const runs = [];
let before = -1;
for (let point = 0; point < 0x110000; point++) {
    const now = classOf(point);
    if (now !== before) runs.push((point << 8) | now);
    before = now;
}

const lines = [];
for (let i = 0; i < runs.length; i += 10)
    lines.push("    " + runs.slice(i, i + 10).map((run) => "0x" + run.toString(16).padStart(8, "0") + ",").join(" "));

console.log(`/* unicode_tables: the classes of characters, made by tools/unicode.mjs from Unicode ${process.versions.unicode}. Do not edit. */
#include "model/unicode.h"

/* The first character of each run, times 256, and the class bits of all in it. */
const uint32_t unicode_runs[] = {
${lines.join("\n")}
};
const uint32_t unicode_run_count = sizeof unicode_runs / sizeof *unicode_runs;`);
