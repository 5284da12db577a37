// Runs the targets of tests/fuzz under libFuzzer, which `make fuzz-build` has built, and keeps count.
//
//     node tools/fuzz.mjs --seconds 300        each target for so long
//     node tools/fuzz.mjs --hours 2            all of them for so long together, by turns
//     node tools/fuzz.mjs --merge              what was found, as little as can be, into tests/fuzz/corpus
//     node tools/fuzz.mjs --write              the counts into tests/fuzz/counts.json and docs/reliability.md
//     node tools/fuzz.mjs --check              is that table the one of those counts?
//
// --jobs N: so many at a time (as many as there are processors); --targets A,B: only these; --write after a run, too.
// What a target finds is kept in build/fuzz/NAME, where the next run goes on. An input that crashes, hangs or takes too
// much memory lies in build/fuzz/crashes, ends its target's part of the run, and makes the exit status 1.
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, rmSync, writeFileSync, copyFileSync } from "node:fs";
import { spawn, spawnSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { table } from "./table_text.mjs";

const FOUND = "build/fuzz", BUILT = `${FOUND}/objects`, CRASHES = `${FOUND}/crashes`, SEEDS = "tests/fuzz/corpus";
const NEW_COUNTS = `${FOUND}/counts.json`, COUNTS = "tests/fuzz/counts.json", PAGE = "docs/reliability.md";
const TURN_S = 180;             // of a target, before the next has its turn
const LATEST_S = 180;           // so much more, and it is ended
const LONGEST_INPUT = 4096;     // bytes, unless the repository has a longer one
const MOST_NEW_INPUTS = 40;     // of a target, at a merge
// An input is as long as the longest that the repository has, at least; a shorter limit would cut that one off.
const longest = (name) => Math.max(LONGEST_INPUT, ...corpusOf(name).map((f) => statSync(`${SEEDS}/${name}/${f}`).size));
const limits = (name) => [`-max_len=${longest(name)}`, "-malloc_limit_mb=64", "-rss_limit_mb=1024", "-timeout=120"];

const args = process.argv.slice(2);
const has = (name) => args.includes(name);
const value = (name) => (has(name) ? args[args.indexOf(name) + 1] : undefined);
const all = readdirSync("tests/fuzz").map((f) => f.match(/^fuzz_(.*)\.c$/)?.[1]).filter(Boolean).sort();
const targets = value("--targets")?.split(",") ?? all;

const corpusOf = (name) => (existsSync(`${SEEDS}/${name}`) ? readdirSync(`${SEEDS}/${name}`) : []);
const readCounts = (path) => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {});

// ---- running ------------------------------------------------------------------------------

function folders(name) {
    for (const folder of [`${FOUND}/${name}`, CRASHES])
        mkdirSync(folder, { recursive: true });
    return [`${FOUND}/${name}`, ...(existsSync(`${SEEDS}/${name}`) ? [`${SEEDS}/${name}`] : [])];
}

// What libFuzzer prints at the end, and at the beginning: executions, and edges before and after.
function readStats(text) {
    const executed = text.match(/stat::number_of_executed_units:\s*(\d+)/) ?? [...text.matchAll(/^#(\d+)\s/gm)].at(-1);
    const edges = [...text.matchAll(/\bcov: (\d+)/g)].map((m) => Number(m[1]));
    const first = text.match(/INITED\s+cov: (\d+)/);
    return { executions: Number(executed?.[1] ?? 0), first: Number(first?.[1] ?? 0), edges: Math.max(0, ...edges) };
}

function count(name, stats, seconds, crashed) {
    const counts = readCounts(NEW_COUNTS);
    const c = (counts[name] ??= { executions: 0, seconds: 0, edges_at_first: stats.first, edges: 0, crashes: 0 });
    c.executions += stats.executions;
    c.seconds += Math.round(seconds);
    c.edges = Math.max(c.edges, stats.edges);
    c.crashes += crashed ? 1 : 0;
    writeFileSync(NEW_COUNTS, JSON.stringify(counts, null, 1) + "\n");
}

const running = new Set();
let stopped = false;

function turn(name, seconds) {
    return new Promise((resolve) => {
        const began = Date.now();
        const child = spawn(`${BUILT}/fuzz_${name}`, [`-max_total_time=${seconds}`, "-print_final_stats=1", ...limits(name),
            `-artifact_prefix=${CRASHES}/${name}-`, ...folders(name)], { stdio: ["ignore", "ignore", "pipe"] });
        let head = "", tail = "";
        child.stderr.on("data", (piece) => {
            if (head.length < 1 << 20)
                head += piece;
            tail = (tail + piece).slice(-(1 << 16));
        });
        running.add(child);
        // one that does not end by itself, on a busy machine say, is not to hold the others up
        let late = false;
        const limit = setTimeout(() => { late = true; child.kill("SIGKILL"); }, (seconds + LATEST_S) * 1000);
        child.on("close", (status, signal) => {
            clearTimeout(limit);
            running.delete(child);
            const stats = readStats(head + tail), failed = !stopped && !late && (status !== 0 || signal);
            count(name, stats, (Date.now() - began) / 1000, failed);
            console.log(`${name}: ${stats.executions} executions, ${stats.edges} edges (${stats.first} at first)${failed ? ", failed" : late ? ", did not end in time" : ""}`);
            if (failed) {
                const reason = (tail.match(/^.*(?:ERROR: .*|runtime error: .*|deadly signal.*)$/m) ?? [`ended by ${signal ?? `status ${status}`}`])[0];
                const kept = tail.match(/Test unit written to (\S+)/)?.[1];
                const own = tail.match(/^fuzz_\w+: .*$/m)?.[0];
                console.error([`${name}: ${reason.trim()}`, own, kept && `the input: ${kept}`].filter(Boolean).join("\n  "));
            }
            resolve(!failed);
        });
    });
}

async function run(seconds, together) {
    const jobs = Number(value("--jobs") ?? availableParallelism());
    const deadline = Date.now() + (together ? seconds : (seconds * targets.length) / jobs + 3600) * 1000;
    const left = new Set(targets);
    let bad = false;
    const waiting = [...targets];
    const worker = async () => {
        while (!stopped && waiting.length) {
            const name = waiting.shift();
            const rest = Math.floor((deadline - Date.now()) / 1000);
            if (together && rest < 2)
                return;
            const good = await turn(name, together ? Math.min(TURN_S, Math.max(5, Math.ceil((seconds * jobs) / targets.length)), rest) : seconds);
            if (!good) {
                bad = true;
                left.delete(name);
            } else if (together)
                waiting.push(name);
        }
    };
    for (const signal of ["SIGINT", "SIGTERM"])
        process.on(signal, () => { stopped = true; for (const child of running) child.kill("SIGINT"); });
    await Promise.all(Array.from({ length: Math.min(jobs, targets.length) }, worker));
    return bad;
}

// ---- the corpus ---------------------------------------------------------------------------

// Inputs that reach edges which those of the repository do not, the smallest of each; those that reach most first.
function merge(name) {
    const [found, seeds] = folders(name), fresh = `${FOUND}/${name}.new`;
    if (!seeds || !existsSync(found))
        return;
    rmSync(fresh, { recursive: true, force: true });
    mkdirSync(fresh, { recursive: true });
    for (const file of readdirSync(seeds))
        copyFileSync(`${seeds}/${file}`, `${fresh}/${file}`);
    const before = new Set(readdirSync(fresh));
    const { status } = spawnSync(`${BUILT}/fuzz_${name}`, ["-merge=1", "-set_cover_merge=1", "-use_counters=0", ...limits(name), fresh, found], { stdio: "ignore" });
    if (status !== 0)
        throw new Error(`fuzz_${name} -merge=1 failed`);
    const added = readdirSync(fresh).filter((f) => !before.has(f)).slice(0, MOST_NEW_INPUTS);
    for (const file of added)
        copyFileSync(`${fresh}/${file}`, `${seeds}/${file.slice(0, 12)}`);
    rmSync(fresh, { recursive: true });
    console.log(`${name}: ${added.length} more inputs`);
}

// ---- the counts ---------------------------------------------------------------------------

const digits = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const bytesOf = (name) => corpusOf(name).reduce((sum, f) => sum + statSync(`${SEEDS}/${name}/${f}`).size, 0);

function countsText() {
    const counts = readCounts(COUNTS), names = all.filter((name) => counts[name]);
    const sum = (key) => names.reduce((s, name) => s + counts[name][key], 0);
    const rows = names.map((name) => {
        const c = counts[name];
        return [`\`${name}\``, digits(c.executions), digits(Math.round(c.executions / Math.max(1, c.seconds))),
            `${digits(c.edges_at_first)} → ${digits(c.edges)}`, `${corpusOf(name).length}, ${Math.ceil(bytesOf(name) / 1024)} KiB`, String(c.crashes)];
    });
    rows.push(["all", digits(sum("executions")), digits(Math.round(sum("executions") / Math.max(1, sum("seconds")))), "",
        `${names.reduce((s, n) => s + corpusOf(n).length, 0)}, ${names.reduce((s, n) => s + Math.ceil(bytesOf(n) / 1024), 0)} KiB`, String(sum("crashes"))]);
    return table(["target", "executions", "per second", "edges: at first → now", "corpus", "crashes"], rows);
}

function page() {
    const text = readFileSync(PAGE, "utf8");
    const marked = /(<!-- counts tests\/fuzz\/counts\.json -->\n)[^]*?(<!-- end -->)/;
    if (!marked.test(text))
        throw new Error(`${PAGE} has no place for the table`);
    return [text, text.replace(marked, (_, begin, end) => `${begin}\n${countsText()}\n\n${end}`)];
}

function write() {
    const counts = readCounts(COUNTS), fresh = readCounts(NEW_COUNTS);
    for (const [name, c] of Object.entries(fresh)) {
        const to = (counts[name] ??= { executions: 0, seconds: 0, edges_at_first: c.edges_at_first, edges: 0, crashes: 0 });
        for (const key of ["executions", "seconds", "crashes"])
            to[key] += c[key];
        to.edges = Math.max(to.edges, c.edges);
        to.edges_at_first ||= c.edges_at_first;
    }
    writeFileSync(COUNTS, JSON.stringify(Object.fromEntries(Object.entries(counts).sort()), null, 1) + "\n");
    rmSync(NEW_COUNTS, { force: true });
    writeFileSync(PAGE, page()[1]);
}

const seconds = Number(value("--hours") ?? 0) * 3600 || Number(value("--seconds") ?? 0);
const unknown = targets.find((name) => !all.includes(name));
if (unknown || (!seconds && !has("--merge") && !has("--write") && !has("--check"))) {
    console.error(unknown ? `tools/fuzz.mjs: there is no target ${unknown}` : "tools/fuzz.mjs: --seconds N, --hours N, --merge, --write or --check");
    process.exit(2);
}
if (has("--check")) {
    const [is, right] = page();
    if (is !== right)
        console.error(`${PAGE}: the table of fuzz targets is not that of ${COUNTS} (node tools/fuzz.mjs --write)`);
    process.exit(is === right ? 0 : 1);
}
const bad = seconds ? await run(seconds, has("--hours")) : false;
if (has("--merge"))
    targets.forEach(merge);
if (has("--write"))
    write();
process.exit(bad ? 1 : 0);
