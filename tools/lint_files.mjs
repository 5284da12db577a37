// node tools/lint_files.mjs CHECK [ROOT]: one of lint.sh's checks that need nothing but the files' text.
// Prints FILE:LINE: what is wrong, exit status 1 if anything is.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

// Each folder of src/ may include only from itself and from those that stand before it here (docs/architecture.md) ...
const FOLDERS = ["base", "gpu", "launch", "graph", "model", "llm", "sim", "hub", "lab", "serve", "api", "cli", "web"];
// ... except these: a simulation needs neither graphs nor models, fetching files only src/base, and the library fetches and
// serves nothing
const NOT_FOR = { sim: ["graph", "model", "llm"], hub: ["gpu", "launch", "graph", "model", "llm", "sim"], api: ["hub", "serve"] };
// what a back end of src/gpu must have is nobody else's business
const PRIVATE = { "gpu/backend.h": "gpu" };

const MAX_LINES = 500, MAX_COLUMNS = 120;
// longer than MAX_LINES, for a reason
const LONG = { "src/model/nfc_tables.c": "written by tools/nfc.mjs" };
// not source of this project's own making: test data
const DATA = ["tests/data", "tests/fuzz/corpus"];

const [check, root = "."] = process.argv.slice(2);
let wrong = 0;
const report = (file, line, what) => {
    wrong++;
    console.log(`${file}:${line}: ${what}`);
};

function filesIn(folder, ending) {
    if (!existsSync(join(root, folder)) || DATA.includes(folder)) return [];
    return readdirSync(join(root, folder), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1)).flatMap((entry) => {
        const path = `${folder}/${entry.name}`;
        if (entry.isDirectory()) return ["node_modules", "__pycache__"].includes(entry.name) ? [] : filesIn(path, ending);
        return entry.isFile() && ending.test(entry.name) ? [path] : [];
    });
}
const filesOf = (folders, ending) => folders.flatMap((folder) => filesIn(folder, ending));
const linesOf = (file) => readFileSync(join(root, file), "utf8").split("\n");

function mayInclude(folder, path) {
    const from = path.split("/")[0], order = FOLDERS.indexOf(from);
    if (!path.includes("/")) return ""; // include/solo.h, or written by the build
    if (order < 0) return `"${path}" is in no folder of src/ that tools/lint_files.mjs knows`;
    if (PRIVATE[path] && PRIVATE[path] !== folder) return `"${path}" is for src/${PRIVATE[path]} alone`;
    if (order > FOLDERS.indexOf(folder)) return `src/${folder} stands above src/${from} and may not include "${path}"`;
    if (NOT_FOR[folder]?.includes(from)) return `src/${folder} does without src/${from} and may not include "${path}"`;
    return "";
}

// Does this line, the first of the file, say what the file is for?
function opensWithPurpose(line) {
    const said = /^(?:\/\*\*?|\/\/|#|"""|<!--)\s+(.*)|^"""(.*)/.exec(line);
    return said !== null && /\w+\W+\w+/.test(said[1] ?? said[2]) && !/^shellcheck /.test(said[1] ?? "");
}

const CHECKS = {
    includes() {
        for (const file of filesOf(["src"], /\.[ch]$/)) {
            const folder = file.split("/")[1];
            if (!FOLDERS.includes(folder)) report(file, 1, `src/${folder} has no place in the order of folders`);
            else linesOf(file).forEach((line, i) => {
                const path = /^\s*#\s*include\s+"([^"]+)"/.exec(line)?.[1];
                const why = path && mayInclude(folder, path);
                if (why) report(file, i + 1, why);
            });
        }
    },
    headers() {
        const folders = ["bench", "examples", "include", "kernels", "python", "src", "tests", "tools", "web"];
        for (const file of filesOf(folders, /\.(c|h|wgsl|mjs|js|ts|css|sh|inc|py)$/)) {
            const lines = linesOf(file), first = lines[0].startsWith("#!") ? 1 : 0;
            if (!opensWithPurpose(lines[first])) report(file, first + 1, "does not open with a comment that says what the file is for");
        }
    },
    wgsl() {
        for (const file of filesOf(["kernels", "examples", "tests"], /\.wgsl$/))
            linesOf(file).forEach((line, i) => {
                if ([...line].length > MAX_COLUMNS) report(file, i + 1, `${[...line].length} columns, more than ${MAX_COLUMNS}`);
            });
    },
    length() {
        for (const file of filesOf(["src", "include", "kernels", "web", "tools", "tests", "bench", "examples", "python"], /\.(c|h|wgsl|mjs|js|ts|css|html|sh|inc|py)$/)) {
            const count = linesOf(file).length - 1;
            if (count > MAX_LINES && !LONG[file]) report(file, count, `${count} lines, more than ${MAX_LINES}`);
        }
    },
};

if (!CHECKS[check]) {
    console.error(`usage: node tools/lint_files.mjs ${Object.keys(CHECKS).join("|")} [ROOT]`);
    process.exit(2);
}
CHECKS[check]();
process.exit(wrong ? 1 : 0);
