// newer: which dependencies that are pinned in this repository have newer versions, from npm and PyPI.
//
//     node tools/newer.mjs
//
// Prints a line for each that is behind: where it is pinned, its name, the version here and the newest one. Nothing is
// changed. Exit status 1 if a registry did not answer. `make newer` runs it.
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";

const run = promisify(execFile);
const PACKAGES = ["package.json", "tests/npm/package.json", "tests/oracle/package.json"];
const REQUIREMENTS = ["tools/requirements.txt", "tools/requirements-dawn.txt", "tools/requirements-cross.txt",
    "tools/requirements-wheel.txt", "tests/oracle/requirements.txt"];

async function newestOfNpm(name) {
    const { stdout } = await run("npm", ["view", name, "version"]);
    return stdout.trim();
}

async function newestOfPypi(name) {
    const { stdout } = await run("python3", ["-m", "pip", "--disable-pip-version-check", "index", "versions", name]);
    return stdout.match(/\(([^)]+)\)/)[1];
}

function pins() {
    const found = [];
    for (const file of PACKAGES) {
        const { dependencies, optionalDependencies, devDependencies } = JSON.parse(readFileSync(file, "utf8"));
        for (const [name, version] of Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies }))
            found.push({ file, name, version, newest: newestOfNpm });
    }
    for (const file of REQUIREMENTS)
        for (const [, name, version] of readFileSync(file, "utf8").matchAll(/^([A-Za-z0-9_.-]+)==([^ ;\\\n]+)/gm))
            found.push({ file, name, version, newest: newestOfPypi });
    return found;
}

const all = pins();
let behind = 0, unknown = 0;
for (const { file, name, version, newest } of all) {
    try {
        const there = await newest(name);
        if (there === version) continue;
        behind++;
        console.log(`${file}: ${name} ${version}, newest ${there}`);
    } catch (error) {
        unknown++;
        console.error(`newer: ${name}: ${String(error.stderr || error.message).trim().split("\n").pop()}`);
    }
}
console.log(`${all.length} pinned, ${behind} of them not the newest${unknown ? `, ${unknown} not known` : ""}`);
process.exit(unknown ? 1 : 0);
