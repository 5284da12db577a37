// Which model the last visit had: the built-in one, one that is kept in this browser, or a file on disk. A file is remembered
// by its handle, where the browser has such; whether it may be read again is for the visitor to say.
const KEY = "solo-model", DATABASE = "solo", STORE = "handles";

function database() {
    return new Promise((done, fail) => {
        const request = indexedDB.open(DATABASE, 1);
        request.onupgradeneeded = () => request.result.createObjectStore(STORE);
        request.onsuccess = () => done(request.result);
        request.onerror = () => fail(request.error);
    });
}

async function withHandles(mode, act) {
    const opened = await database();
    try {
        return await new Promise((done, fail) => {
            const request = act(opened.transaction(STORE, mode).objectStore(STORE));
            request.onsuccess = () => done(request.result);
            request.onerror = () => fail(request.error);
        });
    } finally {
        opened.close();
    }
}

/** The last visit had another model than the built-in one. */
export function hasRemembered() {
    try {
        return localStorage.getItem(KEY) !== null;
    } catch {
        return false;
    }
}

/** `wanted` is what was loaded: { model, handle }. */
export async function rememberModel({ model, handle } = {}) {
    const note = !model ? null : model instanceof Blob ? { file: model.name } : typeof model === "string" || model instanceof URL ? { url: String(model) } : { kept: model.kept };
    try {
        if (note) localStorage.setItem(KEY, JSON.stringify(note));
        else localStorage.removeItem(KEY);
        if (handle) await withHandles("readwrite", (store) => store.put(handle, KEY));
        else await withHandles("readwrite", (store) => store.delete(KEY));
    } catch {} // no storage: the next visit begins with the built-in model
}

/**
 * What to load now: { wanted }; `note` says why it is not what the last visit had, `again` gets it after a click, or is not
 * there. Nothing is fetched: a model at a URL counts only if all of it is kept here.
 */
export async function recallModel(listKept) {
    let note = null;
    try {
        note = JSON.parse(localStorage.getItem(KEY));
    } catch {}
    if (note?.url || note?.kept) {
        const found = (await listKept().catch(() => [])).find((m) => m.complete && (m.key === note.kept || m.url === note.url));
        return found ? { wanted: { model: { kept: found.key } } } : { wanted: {}, note: "The model of your last visit is not kept here any more." };
    }
    if (!note?.file) return { wanted: {} };
    const handle = await withHandles("readonly", (store) => store.get(KEY)).catch(() => null);
    const read = async () => ({ model: await handle.getFile(), handle });
    if (!handle?.getFile) return { wanted: {}, note: `Your last visit had ${note.file}, which this browser does not open again by itself: open it once more.` };
    if ((await handle.queryPermission?.({ mode: "read" })) === "granted") {
        const wanted = await read().catch(() => null);
        return wanted ? { wanted } : { wanted: {}, note: `${note.file}, which your last visit had, is not where it was.` };
    }
    return {
        wanted: {}, note: `Your last visit had ${note.file}.`,
        again: async () => {
            if ((await handle.requestPermission({ mode: "read" })) !== "granted") throw new Error(`${note.file} may not be read`);
            return read().catch(() => {
                throw new Error(`${note.file} is not where it was`);
            });
        },
    };
}
