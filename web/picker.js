// Choosing a model: the built-in one, a file, a URL, or one that is kept; and loading it, with progress.
import { bytes, progressTeller } from "./format.js";
import { say, unsay } from "./notices.js";
import { RemoteModel } from "./remote.js";
import { recallModel, rememberModel } from "./remembered.js";

const $ = (id) => document.getElementById(id);
const BUILTIN = "the built-in model";

export function startModels(page, chat) {
    const dialog = $("models");
    let catalogue = null; // it comes when the dialog is first opened
    let last = {}, lastOptions = {}; // how the model now loaded was asked for
    let choices = 0, connecting = null; // what was asked for last counts, whatever is ready last

    async function withProgress(act) {
        page.busy = true;
        page.calm();
        chat.waiting();
        $("loading").hidden = false;
        $("loading-bar").removeAttribute("value");
        $("loading-text").textContent = "starting";
        try {
            await act(progressTeller($("loading-bar"), $("loading-text"), (what) => /load|check/.test(what)));
        } finally {
            page.busy = false;
            $("loading").hidden = true;
            chat.waiting();
        }
    }

    /** As it is now, and again when the best level is there. */
    function show(solo) {
        const now = solo.model;
        chat.loaded(now, solo.info);
        if (now.improving) solo.improved.then((better) => page.solo === solo && better?.name === now.name && chat.improved(better, solo.info));
    }

    /** The model of the server that sent this page; whether that answers now. */
    function useServer(api) {
        choices++;
        return (connecting = connect(api));
    }

    async function connect(api) {
        const remote = new RemoteModel(api);
        dialog.close();
        $("use-server").hidden = false;
        $("use-server").onclick = () => useServer(api);
        try {
            const model = await remote.connect();
            page.remote = remote;
            unsay("server");
            chat.loaded(model);
            tell("");
            return true;
        } catch (error) {
            if (error.needsKey) askForKey(api, error);
            else say("server", `The server's model does not answer: ${error.message}.`, { "Try again": () => useServer(api) });
            return false;
        }
    }

    function askForKey(api, error) {
        say("server", `The server's model: ${error.message}.`, {
            "Enter a key": () => {
                const key = prompt("The server's key; it is forgotten when this tab is closed");
                if (key) RemoteModel.rememberKey(key);
                useServer(api);
            },
        });
    }

    /** Whether it is loaded; if not, what was there before is there again. */
    async function load(wanted, options = chat.loadOptions()) {
        if (page.busy || !(page.solo || (await page.needGpu()))) return false;
        const { model: before } = page.solo, choice = ++choices;
        dialog.close();
        $("loading-cancel").hidden = !wanted.model;
        try {
            await withProgress(async (onProgress) => {
                const { handle, ...model } = wanted;
                await page.solo.loadModel({ ...model, ...options, onProgress });
                [last, lastOptions] = [wanted, options];
                if (choice !== choices && (await connecting)) return;
                page.remote = null;
                show(page.solo);
                tell("");
                rememberModel({ ...model, handle });
            });
            return true;
        } catch (error) {
            let isThere = (error.kept && before) || page.remote;
            if (!isThere && page.solo) {
                chat.unloaded();
                isThere = before && !error.lost && (await load(last, lastOptions)); // it made room for what failed
            }
            page.trouble(error, isThere ? null : error.lost ? recover : () => load({}));
            return false;
        }
    }

    /** A program of PyTorch is no model: it has a dialog of its own, and what runs it is fetched for it. */
    async function openFile(file, handle) {
        if (!file.name.endsWith(".pt2")) return load({ model: file, handle });
        if (page.busy || !(page.solo || (await page.needGpu()))) return;
        dialog.close();
        try {
            const { showProgram } = await import("./exported.js");
            await showProgram(page.solo, $("program"), file);
        } catch (error) {
            page.trouble(error);
        }
    }

    /** A line about the model, with a button that does something about it. */
    function tell(text, again = null) {
        $("model-note").hidden = !text;
        $("model-note-text").textContent = text;
        $("model-again").hidden = !again;
        $("model-again").onclick = () => again().then(load, (error) => page.trouble(error));
    }

    /** The model of the last visit, or else the built-in one and why. */
    async function loadLast() {
        const { wanted, note, again } = await recallModel(() => page.solo.models.list());
        if ((await connecting) && page.remote) return; // a key was given meanwhile
        await load(wanted);
        if (note) tell(note, again);
    }

    /** After a loss: another device, and the same model. */
    async function recover() {
        if (page.busy || !page.solo) return;
        $("loading-cancel").hidden = true;
        try {
            await withProgress(async (onProgress) => {
                if (await page.solo.recover({ onProgress })) show(page.solo);
            });
            if (!page.solo.model) await load(last);
        } catch (error) {
            chat.unloaded();
            page.trouble(error, recover);
        }
    }
    page.load = (wanted) => load(wanted);
    /** How to load the model of this name, if it is here. */
    page.findModel = async (name) => {
        if (name === BUILTIN) return {};
        const found = (await Promise.resolve(page.solo?.models.list()).catch(() => null))?.find((m) => m.complete && m.name === name);
        return found ? { model: { kept: found.key } } : null;
    };
    page.recover = recover;
    page.reload = () => load(last);

    async function listKept() {
        const kept = await Promise.resolve(page.solo?.models.list()).catch(() => null) ?? [];
        $("kept").replaceChildren(...kept.map((model) => {
            const item = document.createElement("li"), name = document.createElement("span"), use = document.createElement("button"), remove = document.createElement("button");
            name.textContent = `${model.name} · ${bytes(model.bytes)}${model.complete ? "" : ` of ${bytes(model.size)}`}`;
            use.textContent = model.complete ? "Use" : "Go on";
            use.hidden = !model.complete && !model.url;
            use.onclick = () => load(model.complete ? { model: { kept: model.key } } : { model: model.url });
            remove.textContent = "Delete";
            remove.setAttribute("aria-label", `Delete ${model.name}`);
            remove.onclick = async () => {
                if (!confirm(`Delete ${model.name}? To have it again it must be fetched again.`)) return;
                await page.solo.models.delete(model.key).catch((error) => {
                    dialog.close();
                    page.trouble(error);
                });
                listKept();
            };
            item.append(name, use, remove);
            return item;
        }));
        if (!kept.length) $("kept").innerHTML = "<li class=soft>Nothing yet: models from a URL are kept here for the next time.</li>";
        const { usage, quota } = (await navigator.storage?.estimate?.()) ?? {};
        $("kept-room").textContent = quota ? `${bytes(usage)} used of the ${bytes(quota)} that the browser allows` : "";
    }

    $("change-model").onclick = () => {
        if (page.busy || !(page.solo || page.remote)) return;
        listKept();
        catalogue ??= import("./catalogue.js").then(({ startCatalogue }) => startCatalogue($("catalogue"), $("found"), { info: () => page.solo?.info, load })).catch((error) => page.trouble(error));
        dialog.showModal();
    };
    $("use-builtin").onclick = () => load({});
    // with a handle, where the browser has such, the file can be opened again at the next visit
    $("pick").onclick = async (event) => {
        if (!globalThis.showOpenFilePicker) return;
        event.preventDefault();
        const [handle] = await showOpenFilePicker({ types: [{ description: "GGUF, or PyTorch's .pt2", accept: { "application/octet-stream": [".gguf", ".pt2"] } }] }).catch(() => []);
        if (handle) openFile(await handle.getFile(), handle);
    };
    $("pick").onchange = ({ target }) => {
        if (target.files[0]) openFile(target.files[0]);
        target.value = "";
    };
    $("from-url").onsubmit = (event) => {
        event.preventDefault();
        load({ model: $("url").value });
    };
    $("loading-cancel").onclick = () => page.solo?.cancelLoad();

    // dropped anywhere
    let depth = 0;
    const hasFile = (event) => event.dataTransfer?.types.includes("Files");
    addEventListener("dragenter", (event) => hasFile(event) && ($("drop").hidden = !++depth));
    addEventListener("dragleave", (event) => hasFile(event) && ($("drop").hidden = !(depth = Math.max(0, depth - 1))));
    addEventListener("dragover", (event) => hasFile(event) && event.preventDefault());
    addEventListener("drop", (event) => {
        if (!hasFile(event)) return;
        event.preventDefault();
        depth = 0;
        $("drop").hidden = true;
        const [file] = event.dataTransfer.files, handle = event.dataTransfer.items[0]?.getAsFileSystemHandle?.();
        if (file.type.startsWith("image/")) return page.trouble(new Error("Pictures cannot be read here: models answer to text alone"));
        Promise.resolve(handle).catch(() => null).then((kept) => openFile(file, kept ?? undefined));
    });
    return { load, loadLast, useServer, last: () => last };
}
