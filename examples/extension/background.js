// The extension's service worker has the model, so it stays loaded while the popup comes and goes. A popup connects, sends
// { prompt, max_tokens }, and gets { text } piece by piece, then { done: what it took } or { error }.
import { Solo } from "./solo-gpu/in-place.js";

let loading = null;
const model = () => (loading ??= Solo.load().catch((error) => {
    loading = null; // the next one tries again
    throw error;
}));

chrome.runtime.onConnect.addListener((port) => {
    const leaving = new AbortController();
    port.onDisconnect.addListener(() => leaving.abort());
    port.onMessage.addListener(async ({ prompt, max_tokens = 100 }) => {
        try {
            const solo = await model();
            for await (const { choices: [{ text }], solo: took } of await solo.completions.create({ prompt, max_tokens, stream: true, signal: leaving.signal })) {
                if (!leaving.signal.aborted) port.postMessage(took ? { done: took } : { text });
            }
        } catch (error) {
            if (!leaving.signal.aborted) port.postMessage({ error: error.message });
        }
    });
});
