// Whether the machine has time for a measurement: short tasks of the same length, some of which take longer when others run.
const TASKS = 24, TASK_MS = 4, SLOWER = 1.4, SOME = 4; // as many as a quarter of them

function work(rounds) {
    let x = 1;
    for (let i = 0; i < rounds; i++) x = (x * 1664525 + 1013904223) >>> 0;
    return x;
}

/** How long tasks took, from times in milliseconds: what is said about a machine that is busy, or null. */
export function whyBusy(times) {
    const sorted = [...times].sort((a, b) => a - b), typical = sorted[sorted.length - sorted.length / SOME], ratio = typical / sorted[0];
    return ratio > SLOWER ? `the machine is busy with something else: of short tasks of one length, a quarter took ${ratio.toFixed(1)} times as long as the fastest, or more` : null;
}

/** Takes a tenth of a second. */
export async function lookBusy() {
    let rounds = 20_000;
    for (let ms = 0; ms < TASK_MS; rounds *= 2) {
        const began = performance.now();
        work(rounds);
        ms = performance.now() - began;
    }
    const times = [];
    for (let i = 0; i < TASKS; i++) {
        const began = performance.now();
        work(rounds / 2);
        times.push(performance.now() - began);
        await new Promise((next) => setTimeout(next, 0));
    }
    return whyBusy(times);
}
