// Writes src/model/casing_tables.c: lower case of characters, the marks that take no space, and characters that are not
// seen, from the tables this JavaScript engine has.
//
//     node tools/casing.mjs > src/model/casing_tables.c
const isSurrogate = (point) => point >= 0xd800 && point < 0xe000;
const runs = [], marks = [], formats = [];
function addTo(list, point) {
    if (list.at(-1)?.[1] === point - 1) list.at(-1)[1] = point;
    else list.push([point, point]);
}
for (let point = 0; point < 0x110000; point++) {
    if (isSurrogate(point)) continue;
    const text = String.fromCodePoint(point), lower = [...text.toLowerCase()];
    if (lower.length === 1 && lower[0] !== text) { // U+0130 alone becomes two: casing.c has it
        const by = lower[0].codePointAt(0) - point, run = runs.at(-1);
        const step = run ? point - run.last : 0;
        if (run && run.by === by && (step === run.step || (run.first === run.last && step <= 2))) Object.assign(run, { last: point, step });
        else runs.push({ first: point, last: point, step: 1, by });
    }
    if (/\p{Mn}/u.test(text)) addTo(marks, point);
    if (/[\p{Cc}\p{Cf}\p{Co}]/u.test(text)) addTo(formats, point);
}

const hex = (n) => "0x" + n.toString(16);
function rows(items) {
    const lines = [];
    for (let i = 0; i < items.length; i += 6) lines.push("    " + items.slice(i, i + 6).join(", ") + ",");
    return lines.join("\n");
}
const ranges = (list) => rows(list.map(([a, b]) => `{${hex(a)}, ${hex(b)}}`));

console.log(`/* casing_tables: the data of casing.c, made by tools/casing.mjs from Unicode ${process.versions.unicode}. Do not edit. */
#include "model/casing.h"

const casing_run casing_runs[] = {
${rows(runs.map((r) => `{${hex(r.first)}, ${hex(r.last)}, ${r.step}, ${r.by}}`))}
};
const uint32_t casing_run_count = sizeof casing_runs / sizeof *casing_runs;

const casing_range casing_accents[] = {
${ranges(marks)}
};
const uint32_t casing_accent_count = sizeof casing_accents / sizeof *casing_accents;

const casing_range casing_unseen[] = {
${ranges(formats)}
};
const uint32_t casing_unseen_count = sizeof casing_unseen / sizeof *casing_unseen;`);
