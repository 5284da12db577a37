// Writes src/model/nfc_tables.c: what Unicode's normalization form C needs to know, from the tables this JavaScript
// engine has. Hangul syllables are left out: they follow a rule.
//
//     node tools/nfc.mjs > src/model/nfc_tables.c
const isHangul = (point) => point >= 0xac00 && point <= 0xd7a3;
const isSurrogate = (point) => point >= 0xd800 && point < 0xe000;
const points = (text) => [...text].map((c) => c.codePointAt(0));

const parts = [], pool = [], pairs = [], marks = [];
for (let point = 0x80; point < 0x110000; point++) {
    if (isHangul(point) || isSurrogate(point)) continue;
    const text = String.fromCodePoint(point), apart = points(text.normalize("NFD"));
    if (apart.length > 1 || apart[0] !== point) {
        parts.push([point, pool.length, apart.length]);
        pool.push(...apart);
        const first = points(String.fromCodePoint(...apart.slice(0, -1)).normalize("NFC"));
        if (text.normalize("NFC") === text && first.length === 1) pairs.push([first[0], apart.at(-1), point]);
    } else if (point === 0x345 || [...("\u0345" + text).normalize("NFD")][0] === text) marks.push(text);
}

// Marks have a class that says in which order they go; which number it is does not matter, only the order.
const goesBefore = (a, b) => (b + a).normalize("NFD") === a + b && a !== b;
marks.sort((a, b) => (goesBefore(a, b) ? -1 : goesBefore(b, a) ? 1 : 0));
let rank = 1;
const classes = marks.map((mark, i) => {
    if (i && goesBefore(marks[i - 1], mark)) rank++;
    return [mark.codePointAt(0), rank];
});
classes.sort((a, b) => a[0] - b[0]);
pairs.sort((a, b) => a[0] - b[0] || a[1] - b[1]);

const hex = (n) => "0x" + n.toString(16);
function rows(items) {
    const lines = [];
    for (let i = 0; i < items.length; i += 8) lines.push("    " + items.slice(i, i + 8).join(", ") + ",");
    return lines.join("\n");
}
const triple = (list) => rows(list.map((item) => `{${item.map(hex).join(", ")}}`));

console.log(`/* nfc_tables: the data of nfc.c, made by tools/nfc.mjs from Unicode ${process.versions.unicode}. Do not edit. */
#include "model/nfc_tables.h"

const nfc_part nfc_parts[] = {
${triple(parts)}
};
const uint32_t nfc_part_count = sizeof nfc_parts / sizeof *nfc_parts;

const uint32_t nfc_pool[] = {
${rows(pool.map(hex))}
};

const nfc_pair nfc_pairs[] = {
${triple(pairs)}
};
const uint32_t nfc_pair_count = sizeof nfc_pairs / sizeof *nfc_pairs;

const nfc_mark nfc_marks[] = {
${triple(classes)}
};
const uint32_t nfc_mark_count = sizeof nfc_marks / sizeof *nfc_marks;`);
