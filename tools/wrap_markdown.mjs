// Wraps the paragraphs and list items of Markdown files in which a line is too long.
//
//     node tools/wrap_markdown.mjs [FILE...]           wrap them at 110 columns
//     node tools/wrap_markdown.mjs --check [FILE...]   name the lines over 120 columns that wrapping would shorten
//
// Without FILE, all of this project. Tables, code, headings, HTML, pictures on lines of their own, and what
// tools/tables.mjs writes stay as they are, and so does every paragraph whose lines all fit. Code spans are not broken.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const WRAP_AT = 110, MAX_COLUMNS = 120;
const columns = (text) => [...text].length;

// at the beginning of a line these would be more than words: a list item, a heading, a quotation, a table, HTML, a rule
const STARTS_A_BLOCK = /^(?:[-+*>|<]|#{1,6}$|=+$|\d+[.)]$|```|~~~)/;
const LIST_ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s+(?=\S)/;
const ENDS_IN_BREAK = /(?: {2}|\\)$/;
const STAYS = [
    /^\s*#{1,6}(\s|$)/, // a heading
    /^\s*\|/, // a table's row
    /^\s*>/, // a quotation
    /^\s*</, // HTML, a comment
    /^\s*\[[^\]]+\]:\s/, // where a link leads
    /^\s*(?:[-*_]\s*){3,}$|^\s*=+\s*$/, // a rule, an underline
    /^\s*\[?!\[[^\]]*\]\([^)]*\)(?:\]\([^)]*\))?\s*$/, // a picture alone
    /^\s*\[[^\]]*\]\([^)]*\)\s*$/, // a link alone
];

// Words of a text; a code span is part of one word, with the spaces in it.
function wordsOf(text) {
    const words = text.match(/(?:(`+)(?!`)[\s\S]*?[^`]\1(?!`)|[^\s`]|`+)+/g) ?? [];
    return words.map((word) => word.replace(/\s*\n\s*/g, " "));
}

function wrap(words, first, rest) {
    const lines = [];
    let line = first, isEmpty = true;
    for (const word of words) {
        const fits = columns(line) + (isEmpty ? 0 : 1) + columns(word) <= WRAP_AT;
        if (!isEmpty && !fits && !STARTS_A_BLOCK.test(word)) {
            lines.push(line);
            line = rest;
            isEmpty = true;
        }
        line += (isEmpty ? "" : " ") + word;
        isEmpty = false;
    }
    return [...lines, line];
}

// The lines of a file in pieces { at, lines, prefix }: prefix is null for what stays as it is, else what the first
// line begins with (a list item's mark, an indentation).
function piecesOf(lines) {
    const pieces = [];
    let paragraph = null, until = null, itemIndent = 0;
    const leave = (line, at) => {
        paragraph = null;
        pieces.push({ at, lines: [line], prefix: null });
    };
    const begin = (line, at, prefix) => pieces.push((paragraph = { at, lines: [line], prefix }));
    lines.forEach((line, at) => {
        const fence = /^\s*(```+|~~~+)/.exec(line)?.[1], indent = /^\s*/.exec(line)[0], item = LIST_ITEM.exec(line);
        if (until) {
            if (until.test(line)) until = null;
            leave(line, at);
        } else if (fence) {
            until = new RegExp(`^\\s*${fence[0]}{${fence.length},}\\s*$`);
            leave(line, at);
        } else if (/<!--/.test(line) && (/<!-- table /.test(line) || !/-->/.test(line))) {
            until = /<!-- table /.test(line) ? /<!-- end -->/ : /-->/;
            leave(line, at);
        } else if (!line.trim() || STAYS.some((pattern) => pattern.test(line))) {
            leave(line, at);
        } else if (item) {
            itemIndent = item[0].length;
            begin(line, at, item[0]);
        } else if (paragraph) {
            paragraph.lines.push(line);
        } else {
            if (!indent) itemIndent = 0;
            if (indent.length >= itemIndent + 4) leave(line, at); // code
            else begin(line, at, indent);
        }
        if (ENDS_IN_BREAK.test(line)) paragraph = null; // the next line is another
    });
    return pieces;
}

function wrapped({ lines, prefix }) {
    if (prefix === null || lines.every((line) => columns(line) <= WRAP_AT)) return lines;
    const hardBreak = ENDS_IN_BREAK.exec(lines.at(-1))?.[0] ?? "";
    const text = lines.join("\n").slice(prefix.length, hardBreak ? -hardBreak.length : undefined);
    const fresh = wrap(wordsOf(text), prefix, " ".repeat(prefix.length));
    fresh[fresh.length - 1] += hardBreak;
    return fresh;
}

export const wrapMarkdown = (text) => piecesOf(text.split("\n")).flatMap(wrapped).join("\n");

// Lines over MAX_COLUMNS that wrapping would shorten, as [line number, columns].
export function tooLong(text) {
    return piecesOf(text.split("\n")).flatMap((piece) => {
        const fresh = new Set(wrapped(piece));
        return piece.lines.flatMap((line, i) => (columns(line) > MAX_COLUMNS && !fresh.has(line) ? [[piece.at + i + 1, columns(line)]] : []));
    });
}

function markdownIn(folder) {
    return readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((entry) => {
        const path = folder === "." ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory()) return /^(\..*|build.*|deps|node_modules|shared)$/.test(entry.name) ? [] : markdownIn(path);
        return entry.isFile() && entry.name.endsWith(".md") ? [path] : [];
    });
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
    const args = process.argv.slice(2), check = args[0] === "--check", named = check ? args.slice(1) : args;
    for (const file of named.length ? named : markdownIn(".")) {
        const text = readFileSync(file, "utf8");
        if (check) {
            for (const [line, length] of tooLong(text)) {
                console.log(`${file}:${line}: ${length} columns, more than ${MAX_COLUMNS}`);
                process.exitCode = 1;
            }
        } else if (wrapMarkdown(text) !== text) writeFileSync(file, wrapMarkdown(text));
    }
}
