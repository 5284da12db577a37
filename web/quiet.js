// Whether the machine has time for a measurement: short tasks of the same length, some of which take longer when others run.
// A task is shorter than a turn of the scheduler (3 to 4 ms): of longer ones each is interrupted, and none stands out.
const TASKS = 16, TASK_MS = 2, LOOK_MS = 128, SLOWER = 1.4;

function work(rounds) {
    let x = 1;
    for (let i = 0; i < rounds; i++) x = (x * 1664525 + 1013904223) >>> 0;
    return x;
}

/** How long tasks took, from times in milliseconds: what is said about a machine that is busy, or null. */
export function whyBusy(times) {
    const least = Math.min(...times), ratio = times.reduce((sum, ms) => sum + ms) / times.length / least;
    return least > 0 && ratio > SLOWER ? `the machine is busy with something else: short tasks took ${ratio.toFixed(1)} times as long as the fastest of them` : null;
}

function timed(rounds) {
    const began = performance.now();
    work(rounds);
    return performance.now() - began;
}

/** In one go, for tenths of a second: who pauses is let in at once on a busy machine, too. */
export function lookBusy() {
    let rounds = 5_000, ms = 0; // the clock of some browsers has steps of 100 ms: tasks as long as that, but not many
    while ((ms = Math.min(timed(rounds), timed(rounds), timed(rounds))) < TASK_MS) rounds *= 2;
    return whyBusy(Array.from({ length: Math.max(TASKS, Math.floor(LOOK_MS / ms)) }, () => timed(rounds)));
}
