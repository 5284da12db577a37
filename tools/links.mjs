// Checks Markdown files: every relative link leads to a file, and its #anchor to a heading there; every generated table
// stands in one place. Prints what does not hold, one line each, and exits 1.
//
//     node tools/links.mjs FILE.md...
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, normalize } from "node:path";

const FENCE = /^(```|~~~)[\s\S]*?^\1/gm;

// The anchor that GitHub gives a heading.
const anchorOf = (heading) => heading.trim().toLowerCase().replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");

function anchorsIn(file) {
    const anchors = new Set(), counts = new Map();
    for (const [, heading] of readFileSync(file, "utf8").replace(FENCE, "").matchAll(/^#+ (.+)$/gm)) {
        const anchor = anchorOf(heading), count = counts.get(anchor) ?? 0;
        anchors.add(count ? `${anchor}-${count}` : anchor);
        counts.set(anchor, count + 1);
    }
    return anchors;
}

function brokenLink(file, link) {
    const [path, anchor] = link.split("#"), target = path ? normalize(join(dirname(file), path)) : file;
    if (!existsSync(target)) return `${file}: ${link}: no such file`;
    if (anchor && !(statSync(target).isFile() && anchorsIn(target).has(anchor))) return `${file}: ${link}: no such heading`;
    return null;
}

const problems = [], tables = new Map();
for (const file of process.argv.slice(2)) {
    const text = readFileSync(file, "utf8").replace(FENCE, "");
    for (const [, link] of text.replace(/`[^`\n]*`/g, "").matchAll(/\]\(([^)\s]+)\)/g)) {
        const problem = /^[a-z]+:/.test(link) ? null : brokenLink(file, link);
        if (problem) problems.push(problem);
    }
    for (const [, table] of text.matchAll(/<!-- table (\S+ \S+) -->/g)) {
        if (tables.has(table)) problems.push(`${file}: table ${table}: also in ${tables.get(table)}`);
        tables.set(table, file);
    }
}
for (const problem of problems) console.log(problem);
process.exit(problems.length ? 1 : 0);
