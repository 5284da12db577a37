// One tab at a time has the GPU: two models beside each other would fill its memory, and measurements would mean nothing.
const LOCK = "solo-gpu";
const PATIENCE_MS = 1000; // a tab that is being reloaded gives it up a moment later

/**
 * @param take from the tab that has it
 * @param onTaken another tab took it
 * @returns whether this tab has it now
 */
export function haveGpu({ take = false, onTaken }) {
    const { locks } = navigator;
    if (!locks) return Promise.resolve(true); // a browser that cannot tell
    return new Promise((answer) => {
        let mine = false;
        locks.request(LOCK, take ? { steal: true } : { signal: AbortSignal.timeout(PATIENCE_MS) }, () => {
            mine = true;
            answer(true);
            return new Promise(() => {}); // until the tab goes away
        }).catch(() => (mine ? onTaken() : answer(false)));
    });
}
