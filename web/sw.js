// The page without a network, and on hosts that send no headers for isolation: its own files, all of one version, with the
// headers that give the next visit a fine clock. A newer version is fetched beside it, and waits until a page says so.
const CACHE = "solo-page-@BUILD@"; // a hash of the files: old and new ones do not mix
const FILES = [
    "./", "catalogue.js", "chat.js", "context.js", "conversations.js", "engine.js", "exported.js", "format.js", "gpu.js", "how.js", "icon.svg", "index.html", "live.js", "markdown.js", "marked.js", "measure.js", "models.js", "notices.js", "page.js", "picker.js", "plot.js",
    "program.js", "purify.js", "quiet.js", "reference.json", "remembered.js", "remote.js", "service.js", "sha256.js", "share.js", "sim.js", "site.js", "site.json", "solo-asyncify.wasm", "solo-chat.wasm", "solo.js", "solo.wasm", "style.css", "tabs.js", "template.js", "torch.js", "updates.js", "wasm.js",
    "worker.js", "builtin.gguf",
];
const LATER = ["solo-sim.wasm", "solo-sim-asyncify.wasm", "solo-torch.wasm", "solo-torch-asyncify.wasm"]; // kept when the first visitor wants them
const OURS = new Set([...FILES, ...LATER].map((name) => new URL(name, self.registration.scope).href));
const ISOLATION = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp", "cross-origin-resource-policy": "same-origin" };

function isolated(response) {
    if (response.status !== 200) return response;
    const headers = new Headers(response.headers);
    for (const [name, value] of Object.entries(ISOLATION)) headers.set(name, value);
    return new Response(response.body, { status: response.status, statusText: response.statusText, headers });
}

/** What only the host knows is asked for each time. */
const FRESH = new URL("site.json", self.registration.scope).href;

async function answer(event) {
    const cache = await caches.open(CACHE), { origin, pathname } = new URL(event.request.url), key = origin + pathname, kept = await cache.match(key);
    if (kept && key !== FRESH) return isolated(kept);
    try {
        const response = await fetch(event.request);
        // what cannot be kept (no room, a part of a file) is an answer all the same
        if (response.ok) event.waitUntil(cache.put(key, response.clone()).catch(() => {}));
        return isolated(response);
    } catch (error) {
        if (!kept) throw error;
        return isolated(kept);
    }
}

addEventListener("install", (event) => {
    event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(FILES.map((name) => new Request(new URL(name, self.registration.scope), { cache: "reload" })))));
});
addEventListener("message", ({ data }) => data === "use it" && self.skipWaiting());
addEventListener("activate", (event) => {
    const old = caches.keys().then((names) => Promise.all(names.filter((name) => name.startsWith("solo-page-") && name !== CACHE).map((name) => caches.delete(name))));
    event.waitUntil(Promise.all([old, self.clients.claim()]));
});
addEventListener("fetch", (event) => {
    const { origin, pathname } = new URL(event.request.url);
    if (event.request.method === "GET" && OURS.has(origin + pathname)) event.respondWith(answer(event));
});
