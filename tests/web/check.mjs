// What the web tests share: a line for each test, as tests/run.sh counts them.
const LIMIT_MS = 1_200_000; // for what hangs; beside other work all takes several times as long

export async function test(name, act) {
    const began = performance.now();
    try {
        await Promise.race([act(), new Promise((_, fail) => setTimeout(() => fail(new Error("it took too long")), LIMIT_MS))]);
        console.log(`ok ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
    } catch (error) {
        console.log(`not ok ${name}: ${error.message} (${(error.stack ?? "").split("\n").filter((line) => /tests.web.page|hosts|parts/.test(line)).map((line) => line.trim()).join("; ")})`);
    }
}

export function equal(got, wanted, what = "") {
    const [a, b] = [got, wanted].map((value) => JSON.stringify(value));
    if (a !== b) throw new Error(`${what}${what && ": "}${a} instead of ${b}`);
}

export function yes(value, what) {
    if (!value) throw new Error(`not so: ${what}`);
}

/** The message of what an act throws. */
export async function thrown(act) {
    try {
        await act();
    } catch (error) {
        return error;
    }
    throw new Error("nothing was thrown");
}

/** Failures have been printed: reaching the end means that every check ran. */
export const done = () => (globalThis.Deno?.exit ?? process.exit)(0);

/** The contract of a record (docs), from outside. */
export function checkRecord(record, { experiment, impls = ["web"] }) {
    for (const key of ["schema", "solo", "when", "host", "gpu", "clock_ns", "experiment", "params", "results", "checks"]) yes(key in record, `the record has ${key}`);
    equal(record.experiment, experiment);
    yes(record.clock_ns > 0, "the clock's resolution is known");
    for (const key of ["impl", "impl_version", "backend", "vendor", "device", "driver", "adapter_type", "features", "limits", "resident_workgroups", "copy_gbps"])
        yes(key in record.gpu, `its gpu has ${key}`);
    yes(record.results.length > 0 && record.checks.length > 0 && record.checks.every((c) => c.ok !== undefined), "it has results and checks");
    for (const r of record.results) {
        for (const key of ["name", "params", "unit", "samples", "n", "min", "p10", "median", "p90", "mean", "sd", "ci95", "dispatches", "passes", "submits"])
            yes(key in r, `result ${r.name} has ${key}`);
        equal(r.samples.length, r.n);
        yes(r.samples.every(Number.isFinite), `samples of ${r.name} are numbers`);
        const sorted = [...r.samples].sort((a, b) => a - b), middle = (sorted[(r.n - 1) >> 1] + sorted[r.n >> 1]) / 2;
        yes(Math.abs(middle - r.median) <= 1e-6 * (1 + Math.abs(r.median)), `the median of ${r.name} is its samples'`);
        yes(impls.includes(r.params.impl), `${r.params.impl} is ${impls}`);
    }
    if (experiment !== "dispatch") return;
    const ladder = new Set(record.results.filter((r) => r.name === "dispatch" && r.params.impl === "web").map((r) => `${r.params.submit} ${r.params.kernel}`));
    for (const submit of ["sync", "each", "pass", "batch", "one"]) for (const kernel of ["empty", "add", "rmsnorm", "gemv"]) yes(ladder.has(`${submit} ${kernel}`), `the ladder has ${submit} ${kernel}`);
}
