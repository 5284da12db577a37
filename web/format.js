// Numbers for people.
export const bytes = (n) => (n >= 1e9 ? `${(n / 1e9).toFixed(2)} GB` : n >= 1e6 ? `${(n / 1e6).toFixed(1)} MB` : `${(n / 1e3).toFixed(0)} kB`);
export const seconds = (s) => (s >= 90 ? `${Math.round(s / 60)} min` : s >= 10 ? `${Math.round(s)} s` : s >= 1 ? `${s.toFixed(1)} s` : `${Math.round(s * 1000)} ms`);
export const short = (x) => (!Number.isFinite(x) ? "–" : Number.isInteger(x) ? String(x) : Math.abs(x) >= 100 ? x.toFixed(0) : Math.abs(x) >= 10 ? x.toFixed(1) : Math.abs(x) >= 1 ? x.toFixed(2) : x.toPrecision(2));

/** Firefox does not name the GPU. */
export const deviceName = ({ device }) => (device && device !== "unknown" ? device : "a GPU that the browser does not name");

/** What a model thought before its answer, and the answer. The template may have written the tag that begins thoughts. */
export function splitThoughts(content) {
    const begun = content.replace(/^\s*<think>/, ""), [before, ...after] = begun.split("</think>");
    if (after.length) return { thoughts: before.trim(), answer: after.join("</think>").trimStart() };
    return begun === content ? { thoughts: "", answer: content.trimStart() } : { thoughts: begun.trim(), answer: "" };
}

/** To the clipboard, where that is allowed. */
export const copy = (text) => Promise.resolve(navigator.clipboard?.writeText(text).then(() => true) ?? false).catch(() => false);

/** How far long work is, with its rate and the time that is left. */
export function progressTeller(bar, text, inBytes) {
    let what = null, began = 0, from = 0;
    return (progress) => {
        const now = performance.now();
        if (progress.what !== what) [what, began, from] = [progress.what, now, progress.done];
        const { done, total } = progress, s = (now - began) / 1000, rate = s > 0.3 ? (done - from) / s : 0;
        if (total > 0) bar.value = done / total;
        const isBytes = inBytes(what);
        const parts = [what, isBytes ? `${bytes(done)} of ${bytes(total)}` : `${Math.floor((100 * done) / (total || 1))} %`];
        if (rate > 0 && isBytes) parts.push(`${bytes(rate)}/s`);
        if (rate > 0 && done < total) parts.push(`${seconds((total - done) / rate)} left`);
        text.textContent = parts.join(" · ");
    };
}
