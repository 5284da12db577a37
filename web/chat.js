// The conversation: what was said, answers as they come, settings. It outlives errors and reloads of the page.
import { bytes, seconds, short } from "./format.js";

const $ = (id) => document.getElementById(id);
const DEFAULTS = { temperature: 0.7, top_k: 40, top_p: 0.95, min_p: 0, repeat_penalty: 1.1, max_tokens: 256, seed: "", level: "", context: "", system: "" };
const KEPT_MESSAGES = "solo-messages", KEPT_SETTINGS = "solo-settings";

function recall(key, otherwise) {
    try {
        return JSON.parse(localStorage.getItem(key)) ?? otherwise;
    } catch {
        return otherwise;
    }
}
function remember(key, value) {
    try {
        localStorage.setItem(key, JSON.stringify(value));
    } catch {} // no storage: it lasts as long as the page
}

export function startChat(page) {
    const list = $("messages"), text = $("text"), form = $("settings");
    const messages = recall(KEPT_MESSAGES, []); // { role, content, report }
    let settings = { ...DEFAULTS, ...recall(KEPT_SETTINGS, {}) }, model = null, answering = null;

    // ---- what is shown

    const atEnd = () => list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    const toEnd = () => (list.scrollTop = list.scrollHeight);

    function button(label, act) {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = label;
        made.onclick = act;
        return made;
    }

    function reportText({ tokens, first_token_s, tokens_per_s, dispatches_per_token, level, end }) {
        const parts = [`first token ${seconds(first_token_s ?? 0)}`, `${short(tokens_per_s)} tokens/s`, `${tokens} tokens`];
        if (dispatches_per_token > 0) parts.push(`${short(dispatches_per_token)} dispatches a token (${level})`);
        if (end === "interrupted") parts.push("stopped");
        return parts.join(" · ");
    }

    function element(message, isLast) {
        const item = document.createElement("li"), body = document.createElement("div"), under = document.createElement("div");
        item.className = message.role;
        body.className = "text";
        body.textContent = message.content.trimStart();
        under.className = "under";
        const who = document.createElement("span");
        who.className = "hidden";
        who.textContent = message.role === "user" ? "You:" : "Model:";
        item.append(who, body, under);
        if (message.role === "assistant" && message.report !== undefined) {
            under.append(button("Copy", async ({ target }) => {
                await navigator.clipboard.writeText(message.content).catch(() => {});
                target.textContent = "Copied";
                setTimeout(() => (target.textContent = "Copy"), 1500);
            }));
            if (isLast) under.append(button("Regenerate", regenerate));
            const facts = document.createElement("span");
            facts.className = "soft facts";
            if (message.report) facts.textContent = reportText(message.report);
            under.append(facts);
        }
        return item;
    }

    function draw() {
        list.replaceChildren(...messages.map((message, i) => element(message, i === messages.length - 1)));
        if (!messages.length) {
            const hint = document.createElement("li");
            hint.className = "hint";
            hint.textContent = model && !model.format
                ? "This model goes on with a text: write how a story begins, for example “Once upon a time”."
                : "Everything happens on this machine: nothing that you write leaves it.";
            list.append(hint);
        }
        toEnd();
        remember(KEPT_MESSAGES, messages);
    }

    // ---- answers

    function requestOf() {
        const { system, seed, max_tokens, temperature, top_k, top_p, min_p, repeat_penalty } = settings;
        const said = messages.map(({ role, content }) => ({ role, content }));
        return {
            messages: system ? [{ role: "system", content: system }, ...said] : said,
            stream: true, max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, ...(seed === "" ? {} : { seed }),
        };
    }

    async function answer() {
        page.busy = true;
        page.calm();
        const request = requestOf(), message = { role: "assistant", content: "" };
        messages.push(message);
        draw();
        const body = list.lastChild.querySelector(".text");
        answering = new AbortController();
        buttons();
        try {
            const stream = await page.solo.chat.completions.create({ ...request, signal: answering.signal });
            for await (const chunk of stream) {
                const follow = atEnd();
                message.content += chunk.choices[0].delta.content ?? "";
                body.textContent = message.content.trimStart();
                if (chunk.solo) message.report = chunk.solo;
                if (follow) toEnd();
            }
            if (message.report?.notice) page.trouble(new Error(message.report.notice));
        } catch (error) {
            message.report = null;
            if (!message.content) messages.pop();
            page.trouble(error, error.lost ? page.recover : null);
        } finally {
            answering = null;
            page.busy = false;
            draw();
            buttons();
        }
    }

    function say(content) {
        messages.push({ role: "user", content });
        return answer();
    }

    function regenerate() {
        if (page.busy || !model || messages.at(-1)?.role !== "assistant") return;
        messages.pop();
        answer();
    }

    function buttons() {
        $("send").hidden = answering !== null;
        $("stop").hidden = answering === null;
        $("send").disabled = !model || page.busy;
        $("clear").disabled = page.busy;
    }

    $("composer").onsubmit = (event) => {
        event.preventDefault();
        const content = text.value;
        if (!content.trim() || !model || page.busy) return;
        text.value = "";
        say(content);
    };
    text.onkeydown = (event) => {
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        $("composer").requestSubmit();
    };
    $("stop").onclick = () => answering?.abort();
    $("clear").onclick = () => {
        messages.length = 0;
        draw();
        text.focus();
    };

    // ---- settings

    const fill = () => Object.entries(settings).forEach(([name, value]) => (form.elements[name].value = value));
    form.oninput = ({ target }) => {
        if (!target.checkValidity()) return;
        settings[target.name] = target.type === "number" && target.value !== "" ? Number(target.value) : target.value;
        remember(KEPT_SETTINGS, settings);
    };
    form.elements.level.onchange = form.elements.context.onchange = () => model && page.reload?.();
    form.onreset = (event) => {
        event.preventDefault();
        settings = { ...DEFAULTS };
        remember(KEPT_SETTINGS, settings);
        fill();
    };
    form.onsubmit = (event) => event.preventDefault();
    $("open-settings").onclick = ({ target }) => {
        form.hidden = !form.hidden;
        target.setAttribute("aria-expanded", String(!form.hidden));
    };

    fill();
    draw();
    buttons();

    return {
        waiting: buttons,
        loadOptions: () => ({ level: settings.level || undefined, context: Number(settings.context) || undefined }),
        loaded(now, { gpu }) {
            model = now;
            $("model-name").textContent = model.name;
            $("model-facts").textContent = `${bytes(model.gpu_bytes)} on ${gpu.device}${gpu.adapter_type === "software" ? " (software: slow)" : ""} · ${model.dispatches} dispatch${model.dispatches === 1 ? "" : "es"} a token (${model.level})`;
            text.placeholder = model.format ? "Message" : "Once upon a time …";
            if (model.notice) page.trouble(new Error(model.notice));
            draw();
            buttons();
        },
        unloaded() {
            model = null;
            $("model-name").textContent = "No model";
            $("model-facts").textContent = "";
            buttons();
        },
        unavailable() {
            $("model-name").textContent = "No GPU";
        },
    };
}
