// Lays a record out as `solo bench` does, with each result on a line of its own, so that a diff shows which changed.
//
//     node tools/record_layout.mjs FILE...           lay them out again
//     node tools/record_layout.mjs --check FILE...   name those laid out otherwise, exit 1 if any
//
// The outermost object or array has one member per line. A member that holds objects or arrays has these on one
// line each (results, checks, gpu); every other member is a line. Numbers and texts stay as they were written.
import { readFileSync, writeFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";

// The JSON text as a tree: a scalar is its own text, a container { open, close, members: [[key text or "", value]] }.
function parseTokens(text) {
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|[[\]{},:]|[^\s[\]{},:"]+/g);
    let at = 0;
    const value = () => {
        const open = tokens[at++];
        if (open !== "{" && open !== "[") return open;
        const close = open === "{" ? "}" : "]", members = [];
        while (tokens[at] !== close) {
            if (tokens[at] === ",") at++;
            const key = open === "{" ? `${tokens[at++]}: ` : "";
            if (key) at++; // the colon
            members.push([key, value()]);
        }
        at++;
        return { open, close, members };
    };
    return value();
}

const holdsContainers = (node) => node.members.some(([, value]) => typeof value !== "string");

// rowDepths: how many levels of members, from this one inwards, may stand on lines of their own
function layOut(node, rowDepths, indent) {
    if (typeof node === "string") return node;
    const { open, close, members } = node;
    const inRows = members.length > 0 && rowDepths > 0 && (indent === 0 || holdsContainers(node));
    if (!inRows) return open + members.map(([key, value]) => key + layOut(value, 0, indent + 1)).join(", ") + close;
    const margin = `\n${" ".repeat(indent + 1)}`;
    return `${open}${members.map(([key, value]) => margin + key + layOut(value, rowDepths - 1, indent + 1)).join(",")}\n${" ".repeat(indent)}${close}`;
}

// The text of a record, from its text in another layout or from the record itself.
export function recordText(record) {
    const text = typeof record === "string" ? record : JSON.stringify(record);
    const laidOut = `${layOut(parseTokens(text), 2, 0)}\n`;
    if (!isDeepStrictEqual(JSON.parse(laidOut), JSON.parse(text))) throw new Error("the layout changed the record");
    return laidOut;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
    const files = process.argv.slice(2), check = files[0] === "--check";
    for (const file of check ? files.slice(1) : files) {
        const old = readFileSync(file, "utf8"), fresh = recordText(old);
        if (fresh === old) continue;
        if (check) {
            console.log(`${file}:1: results do not stand on one line each (node tools/record_layout.mjs ${file})`);
            process.exitCode = 1;
        } else writeFileSync(file, fresh);
    }
}
