// Conversations: several, each with the model it was held with; kept in this browser, exported and imported as JSON.
const LIST = "solo-conversations", ONE = "solo-conversation-", BEFORE = "solo-messages"; // what one of them was called when there was only one
const MOST_BYTES = 20_000_000; // of a file to import
const TITLE = 60;

function recall(key) {
    try {
        return JSON.parse(localStorage.getItem(key));
    } catch {
        return null;
    }
}

const isReport = (report) => Number.isFinite(report?.tokens) && Number.isFinite(report.tokens_per_s) && typeof (report.first_token_s ?? 0) === "number";

/** Messages of an earlier visit or of a file, if they are valid; an answer in progress is as long as it was then. */
export function validMessages(kept) {
    const isMessage = (m) => ["user", "assistant"].includes(m?.role) && typeof m.content === "string" && m.content;
    return (Array.isArray(kept) ? kept : []).filter(isMessage).map((m) => ({ role: m.role, content: m.content, report: isReport(m.report) ? m.report : null }));
}

const titleOf = (messages) => {
    const text = messages.find((m) => m.role === "user")?.content.trim().replace(/\s+/g, " ") ?? "";
    return text.length > TITLE ? `${text.slice(0, TITLE - 1)}…` : text || "New conversation";
};
const isEntry = (c) => typeof c?.id === "string" && typeof c.title === "string" && typeof c.model === "string" && Number.isFinite(c.when);

/** All of them: `list` has { id, title, named, model, when }, the newest first. */
export class Conversations {
    constructor() {
        this.list = [];
        this.#read();
        this.current = this.list[0] ?? this.#entry();
        this.messages = validMessages(recall(ONE + this.current.id) ?? recall(BEFORE));
        this.full = false; // the browser keeps no more
    }

    /** The list as it is now: another tab may have changed it. */
    #read() {
        const kept = recall(LIST);
        if (Array.isArray(kept)) this.list = kept.filter(isEntry).map((c) => (c.id === this.current?.id ? this.current : c));
    }

    #entry(more = {}) {
        return { id: crypto.randomUUID?.() ?? String(Math.random()).slice(2), title: "New conversation", named: false, model: "", when: Date.now(), ...more };
    }

    /** What is there now; `model` is the one that answers. */
    save(model) {
        const { current, messages } = this;
        this.#read();
        if (!messages.length && !this.list.includes(current)) return;
        if (!current.named) current.title = titleOf(messages);
        if (messages.length) current.model ||= model ?? "";
        this.list = [current, ...this.list.filter((c) => c !== current)];
        this.#keep(ONE + current.id, messages);
        this.#keep(LIST, this.list);
        localStorageRemove(BEFORE);
    }

    #keep(key, value) {
        try {
            localStorage.setItem(key, JSON.stringify(value));
            this.full = false;
        } catch { // no storage, or no more room: it lasts as long as the page
            this.full = true;
        }
    }

    /** An empty one, unless the present one is. */
    begin(model) {
        this.save(model);
        if (this.messages.length) [this.current, this.messages] = [this.#entry(), []];
    }

    /** Another one, as the present one is up to a message. */
    branch(count, model) {
        this.save(model);
        this.current.when = Date.now();
        [this.current, this.messages] = [this.#entry({ model: this.current.model }), this.messages.slice(0, count).map((m) => ({ ...m }))];
    }

    open(id, model) {
        const wanted = this.list.find((c) => c.id === id);
        if (!wanted || wanted === this.current) return;
        this.save(model);
        [this.current, this.messages] = [wanted, validMessages(recall(ONE + id))];
    }

    rename(id, title) {
        this.#read();
        const entry = this.list.find((c) => c.id === id);
        if (!entry) return;
        entry.title = title.trim() || titleOf(entry === this.current ? this.messages : validMessages(recall(ONE + id)));
        entry.named = Boolean(title.trim());
        this.#keep(LIST, this.list);
    }

    delete(id) {
        this.#read();
        this.list = this.list.filter((c) => c.id !== id);
        localStorageRemove(ONE + id);
        this.#keep(LIST, this.list);
        if (this.current.id === id) [this.current, this.messages] = [this.#entry(), []];
    }

    /** All of them as a file's text. */
    export(model) {
        this.save(model);
        const conversations = this.list.map(({ id, title, model: by, when }) => ({ title, model: by, when: new Date(when).toISOString(), messages: (id === this.current.id ? this.messages : validMessages(recall(ONE + id))).map(({ role, content }) => ({ role, content })) }));
        return JSON.stringify({ solo: "conversations", version: 1, conversations }, null, 1);
    }

    /** What a file has, beside those that are here. Returns how many; throws with one line if it is something else. */
    import(text, name) {
        let file;
        if (text.length > MOST_BYTES) throw new Error(`${name} is larger than ${MOST_BYTES / 1e6} MB`);
        try {
            file = JSON.parse(text);
        } catch (error) {
            throw new Error(`${name} is no JSON: ${error.message}`);
        }
        const found = (file?.solo === "conversations" && Array.isArray(file.conversations) ? file.conversations : []).map((c) => ({ ...c, messages: validMessages(c?.messages) })).filter((c) => c.messages.length);
        if (!found.length) throw new Error(`${name} has no conversations`);
        for (const c of found.reverse()) {
            const entry = this.#entry({ title: typeof c.title === "string" && c.title ? c.title : titleOf(c.messages), named: true, model: typeof c.model === "string" ? c.model : "", when: Date.parse(c.when) || Date.now() });
            this.#keep(ONE + entry.id, c.messages);
            if (this.full) throw new Error(`${name}: the browser gives no more room`);
            this.list = [entry, ...this.list];
        }
        this.#keep(LIST, this.list);
        return found.length;
    }
}

function localStorageRemove(key) {
    try {
        localStorage.removeItem(key);
    } catch {} // no storage
}

/** The list of them in a dialog. `act` has open(id), begin(), changed() and trouble(error). */
export function startConversations(conversations, model, act) {
    const $ = (id) => document.getElementById(id), dialog = $("conversations");

    function button(label, name, click) {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = label;
        made.setAttribute("aria-label", `${label} ${name}`);
        made.onclick = click;
        return made;
    }

    function draw() {
        $("conversation-list").replaceChildren(...conversations.list.map((c) => {
            const item = document.createElement("li"), about = document.createElement("span");
            const open = button(c.title, "", () => {
                dialog.close();
                act.open(c.id);
            });
            open.className = "title";
            open.setAttribute("aria-label", `Open ${c.title}`);
            if (c === conversations.current) open.setAttribute("aria-current", "true");
            about.className = "soft";
            about.textContent = [new Date(c.when).toLocaleDateString(), c.model].filter(Boolean).join(" · ");
            item.append(open, about, button("Rename", c.title, () => {
                const title = prompt("What is it to be called?", c.title);
                if (title === null) return;
                conversations.rename(c.id, title);
                draw();
            }), button("Delete", c.title, () => {
                if (!confirm(`Delete “${c.title}”? It cannot be brought back.`)) return;
                conversations.delete(c.id);
                act.changed();
                draw();
            }));
            return item;
        }));
        if (!conversations.list.length) {
            const none = document.createElement("li");
            none.className = "soft";
            none.textContent = "Nothing yet.";
            $("conversation-list").append(none);
        }
    }

    $("open-conversations").onclick = () => {
        conversations.save(model());
        draw();
        dialog.showModal();
    };
    $("export").onclick = () => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([conversations.export(model())], { type: "application/json" }));
        link.download = "solo-conversations.json";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    };
    $("import").onchange = async ({ target }) => {
        const [file] = target.files;
        target.value = "";
        if (!file) return;
        try {
            conversations.import(await file.text(), file.name);
            draw();
        } catch (error) {
            dialog.close();
            act.trouble(error);
        }
    };
}
