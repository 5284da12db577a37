// The model of the server that sent this page (solo serve), by its API, in the shapes of solo.js: nothing runs in the browser.
const KEY = "solo-server-key";

/** What a server says when it refuses. */
async function refusal(response) {
    const said = await response.json().catch(() => null);
    return Object.assign(new Error(said?.error?.message ?? `the server says ${response.status} ${response.statusText}`.trim()), { usage: true, needsKey: response.status === 401, isFull: said?.error?.code === "context_length_exceeded" });
}

/** The objects of a stream of events. */
async function* eventsOf(response) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) throw new Error("the server ended the answer in the middle");
            text += value;
            for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
                const data = text.slice(0, end).split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trim()).join("\n");
                if (data === "[DONE]") return;
                if (data) yield JSON.parse(data);
            }
        }
    } finally {
        reader.cancel().catch(() => {});
    }
}

/** Turns of a model without a chat template are a text that goes on. */
const textOf = (messages) => messages.map(({ content }) => content).join("");

export class RemoteModel {
    #api;
    model = null;
    chat = { completions: { create: (request) => this.#answer(request) } };

    constructor(api) {
        this.#api = new URL(api, location.href).href;
    }

    static rememberKey(key) {
        sessionStorage.setItem(KEY, key);
    }

    async #ask(path, options = {}) {
        const key = sessionStorage.getItem(KEY), headers = { ...(options.body ? { "content-type": "application/json" } : {}), ...(key ? { authorization: `Bearer ${key}` } : {}) };
        const response = await fetch(this.#api + path, { ...options, headers }).catch((error) => {
            if (options.signal?.aborted) throw Object.assign(new Error("cancelled"), { cancelled: true });
            throw Object.assign(new Error(`the server cannot be reached (${error.message})`), { usage: true });
        });
        if (!response.ok) throw await refusal(response);
        return response;
    }

    /** Which model it has. */
    async connect() {
        const { data } = await (await this.#ask("models")).json(), [{ id, context_length: context, chat }] = data;
        this.model = { name: id, context, trained_context: context, format: chat ? "chat" : null, isRemote: true };
        return this.model;
    }

    async *#answer({ messages, signal, seed, ...rest }) {
        const isChat = this.model.format !== null, began = performance.now();
        const body = JSON.stringify({ model: this.model.name, ...(isChat ? { messages } : { prompt: textOf(messages) }), ...rest, ...(seed === undefined ? {} : { seed }), stream: true, stream_options: { include_usage: true } });
        const response = await this.#ask(isChat ? "chat/completions" : "completions", { method: "POST", body, signal });
        let first = 0, end = "interrupted", usage = {}, thinks = false;
        try {
            for await (const { choices: [choice], usage: counted, error } of eventsOf(response)) {
                if (error) throw Object.assign(new Error(error.message), { usage: true });
                const thought = choice?.delta?.reasoning_content ?? "", said = choice?.delta?.content ?? choice?.text ?? "";
                const content = `${thought && !thinks ? "<think>" : ""}${thought}${said && thinks ? "</think>" : ""}${said}`;
                thinks = thought ? true : said ? false : thinks;
                usage = counted ?? usage;
                end = choice?.finish_reason ?? end;
                if (content) first ||= performance.now();
                yield { choices: [{ delta: { content } }] };
            }
        } catch (error) {
            if (!signal?.aborted) throw error;
        }
        const tokens = usage.completion_tokens ?? 0, s = (performance.now() - first) / 1000;
        yield { choices: [{ delta: {} }], solo: { end, tokens, prompt_tokens: usage.prompt_tokens ?? 0, first_token_s: first ? (first - began) / 1000 : null, tokens_per_s: tokens > 1 && s > 0 ? (tokens - 1) / s : 0, dispatches_per_token: 0, level: null, notice: null } };
    }
}
