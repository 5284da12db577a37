// The conversation: messages, answers as they stream, settings. It outlives errors and reloads of the page.
import { Conversations, startConversations } from "./conversations.js";
import { compacted, offerRoom } from "./context.js";
import { button, say as notice, unsay } from "./notices.js";
import { bytes, copy, deviceName, seconds, short, splitThoughts } from "./format.js";

const $ = (id) => document.getElementById(id);
const DEFAULTS = { temperature: 0.7, top_k: 40, top_p: 0.95, min_p: 0, repeat_penalty: 1.1, max_tokens: 256, seed: "", level: "", context: "", system: "" };
const KEPT_SETTINGS = "solo-settings";
let markdown = null; // ./markdown.js, once it is here: texts are plain until then

function recall(key) {
    try {
        return JSON.parse(localStorage.getItem(key));
    } catch {
        return null;
    }
}

/** Only settings that there are, and that the form's fields take: { settings, wrong: names of the others }. */
function recallSettings(form) {
    const found = recall(KEPT_SETTINGS), kept = found && typeof found === "object" ? found : {}, settings = { ...DEFAULTS }, wrong = [];
    for (const [name, usual] of Object.entries(DEFAULTS)) {
        const field = form.elements[name], value = kept[name];
        if (value === undefined) continue;
        const isKind = typeof value === typeof usual || (usual === "" && Number.isFinite(value));
        field.value = isKind ? value : "";
        if (isKind && field.value === String(value) && field.checkValidity()) settings[name] = value;
        else wrong.push(field.labels[0].firstChild.textContent.trim().toLowerCase());
    }
    return { settings, wrong };
}

function remember(key, value) {
    try {
        localStorage.setItem(key, JSON.stringify(value));
    } catch {} // no storage: it lasts as long as the page
}

/** How many dispatches a token takes. */
function launches({ level, dispatches }) {
    if (level === "loop") return "one dispatch for many tokens (loop)";
    return `${dispatches} dispatch${dispatches === 1 ? "" : "es"} a token (${level})`;
}

export function startChat(page) {
    const list = $("messages"), text = $("text"), form = $("settings");
    const talks = new Conversations(), answerer = () => page.remote ?? page.solo;
    let messages = talks.messages; // { role, content, report }
    const recalled = recallSettings(form);
    let settings = recalled.settings, model = null, answering = null;
    if (recalled.wrong.length) notice("settings", `What was kept of the settings cannot be used, and is as usual: ${recalled.wrong.join(", ")}.`);

    // ---- what is shown

    let follows = true; // the end of the conversation is in sight, and stays so
    let placed = 0; // where the end was put last: who is above that has scrolled, and the event may be late
    const follow = () => { follows = true; placed = 0; };
    function toEnd() {
        follows &&= list.scrollTop >= Math.min(placed, list.scrollHeight - list.clientHeight) - 80;
        if (!follows) return;
        list.scrollTop = list.scrollHeight;
        placed = list.scrollTop;
    }
    list.onscroll = () => (follows = list.scrollHeight - list.scrollTop - list.clientHeight < 80);
    new ResizeObserver(toEnd).observe(list);

    function reportText({ tokens, first_token_s, tokens_per_s, gpu_bytes, dispatches_per_token, level, end }) {
        const parts = [`first token ${seconds(first_token_s ?? 0)}`, `${short(tokens_per_s)} tokens/s`, `${tokens} tokens`];
        if (Number.isFinite(gpu_bytes)) parts.push(`${bytes(gpu_bytes)} of GPU memory`);
        if (dispatches_per_token > 0) parts.push(`${short(dispatches_per_token)} dispatches a token (${level})`);
        if (end === "interrupted") parts.push("stopped");
        if (end === "full") parts.push("the context is full");
        return parts.join(" · ");
    }

    /** Thoughts are folded above the answer. */
    function show(body, content) {
        const { thoughts, answer } = splitThoughts(content), said = document.createElement("div");
        said.className = "said";
        if (markdown) said.append(markdown.render(answer));
        else said.textContent = answer;
        if (!thoughts) return body.replaceChildren(...(answer ? [said] : []));
        let details = body.querySelector("details");
        if (!details) {
            const summary = document.createElement("summary"), inside = document.createElement("div");
            details = document.createElement("details");
            details.className = "soft";
            summary.textContent = "Thoughts";
            details.append(summary, inside);
        }
        details.querySelector("div").textContent = thoughts;
        body.replaceChildren(details, said);
    }

    function element(message, isLast) {
        const item = document.createElement("li"), body = document.createElement("div"), under = document.createElement("div");
        item.className = message.role;
        body.className = "text";
        if (message.role === "assistant") show(body, message.content);
        else body.textContent = message.content.trimStart();
        under.className = "under";
        const who = document.createElement("span");
        who.className = "hidden";
        who.textContent = message.role === "user" ? "You:" : "Model:";
        item.append(who, body, under);
        if (message.role === "assistant" && message.report !== undefined) {
            item.dataset.plain = markdown ? "" : "1";
            under.append(button("Copy", async ({ target }) => {
                target.textContent = await copy(message.content) ? "Copied" : "Copying is not allowed here";
                setTimeout(() => (target.textContent = "Copy"), 1500);
            }));
            if (isLast) under.append(button("Regenerate", regenerate));
            const facts = document.createElement("span");
            facts.className = "soft facts";
            if (message.report) facts.textContent = reportText(message.report);
            under.append(facts);
        }
        if (message.role === "user") under.append(button("Edit", () => edit(message)));
        if (message.role === "user" && isLast && !answering) under.append(button("Answer", regenerate)); // something went wrong then
        return item;
    }

    const shown = []; // [message, its element, what that was made of], so that only what changed is made anew and read out

    function draw() {
        messages.forEach((message, i) => {
            const isLast = i === messages.length - 1, state = JSON.stringify([message, isLast, isLast && answering !== null]);
            const [before, item, was] = shown[i] ?? [];
            if (before === message && was === state) return;
            const made = element(message, isLast);
            if (before === message) { // its text stays, and is not read out again
                item.querySelector(".under").replaceWith(made.querySelector(".under"));
                shown[i][2] = state;
                return;
            }
            if (item) item.replaceWith(made);
            else list.append(made);
            shown[i] = [message, made, state];
        });
        for (const [, item] of shown.splice(messages.length)) item.remove();
        list.querySelector(".hint")?.remove();
        if (!messages.length) {
            const hint = document.createElement("li");
            hint.className = "hint";
            hint.textContent = model?.template_error
                ? `This model cannot chat here: ${model.template_error}.`
                : model && !model.format
                ? "This model goes on with a text: write how a story begins, for example “Once upon a time”."
                : model?.isRemote ? "What you write goes to the server that this page is from, and nowhere else."
                : "Everything happens on this machine: nothing that you write leaves it.";
            list.append(hint);
        }
        toEnd();
        keep();
        const other = messages.length && talks.current.model && model && talks.current.model !== model.name;
        $("other-model").hidden = !other;
        $("other-model-text").textContent = other ? `This conversation was held with ${talks.current.model}; ${model.name} would answer now.` : "";
        $("use-other-model").hidden = true;
        if (other) offerModel(talks.current.model);
    }

    /** The model of a conversation, if it is here. */
    async function offerModel(name) {
        const wanted = await page.findModel?.(name);
        if (!wanted || talks.current.model !== name) return;
        $("use-other-model").hidden = false;
        $("use-other-model").onclick = () => page.load(wanted);
    }

    function keep() {
        talks.save(model?.name);
        if (talks.full && !saidFull) page.trouble(new Error("The browser keeps no more: this conversation lasts as long as the page. Export it, or delete others"));
        saidFull = talks.full;
    }
    let saidFull = false;
    // a page that goes away does so in the middle of an answer, too
    addEventListener("pagehide", keep);
    document.addEventListener("visibilitychange", () => document.hidden && keep());

    /** What is shown is another conversation, or another part of it. */
    function changed() {
        messages = talks.messages;
        follow();
        edited();
        draw();
        buttons();
    }

    // ---- answers

    function requestOf() {
        const { system, seed, max_tokens, temperature, top_k, top_p, min_p, repeat_penalty } = settings;
        const said = messages.map(({ role, content }) => ({ role, content }));
        return {
            messages: system ? [{ role: "system", content: system }, ...said] : said,
            stream: true, ...(page.remote ? {} : { on_full: forgets.has(talks.current.id) ? "forget" : "stop" }), max_tokens, temperature, top_k, top_p, min_p, repeat_penalty, ...(seed === "" ? {} : { seed }),
        };
    }

    const forgets = new Set(); // conversations whose oldest messages may be left out

    function full() {
        const begin = () => {
            const { content } = messages.findLast((m) => m.role === "user");
            talks.begin(model?.name);
            changed();
            text.value = content;
            text.focus();
        };
        offerRoom(model.context, {
            begin,
            forget: page.remote ? null : () => {
                forgets.add(talks.current.id);
                regenerate();
            },
            compact: model.format && messages.length > 1 ? summarise : null,
        });
    }

    /** Another conversation begins with a summary of this one. */
    async function summarise() {
        if (page.busy || !answerer()) return;
        if (messages.at(-1).role === "assistant") messages.pop();
        page.busy = true;
        answering = new AbortController();
        buttons();
        const made = await compacted(answerer(), messages, { ...requestOf(), signal: answering.signal }).catch((error) => page.trouble(error));
        page.busy = false;
        answering = null;
        if (made) {
            talks.branch(0, model.name);
            talks.messages.push(...made);
            changed();
            return answer();
        }
        changed();
    }

    async function answer() {
        if (page.busy || !answerer()) return;
        page.busy = true;
        follow();
        edited();
        page.calm();
        unsay("full");
        answering = new AbortController();
        const request = requestOf(), message = { role: "assistant", content: "" };
        messages.push(message);
        draw();
        const body = shown.at(-1)[1].querySelector(".text");
        list.parentElement.setAttribute("aria-busy", "true");
        buttons();
        let done = false, growing = null, isFull = false;
        try {
            const stream = await answerer().chat.completions.create({ ...request, signal: answering.signal });
            for await (const chunk of stream) {
                const piece = chunk.choices[0].delta.content ?? "", begun = message.content.trim() !== "";
                message.content += piece;
                if (message.content.includes("think>")) { // otherwise text is added, so that only that is read out
                    growing = null;
                    show(body, message.content);
                } else if (message.content.trim()) (growing ??= growIn(body)).add(begun ? piece : piece.trimStart());
                if (chunk.solo) message.report = { ...chunk.solo, gpu_bytes: model.gpu_bytes };
                toEnd();
            }
            if (message.report?.notice) page.trouble(new Error(message.report.notice));
            done = message.report?.end !== "interrupted" || message.content !== "";
            isFull = message.report?.end === "full" && !forgets.has(talks.current.id);
            done &&= !isFull || message.content !== "";
        } catch (error) {
            message.report = null;
            isFull = error.isFull === true;
            if (!isFull) page.trouble(error, error.usage ? null : page.recover);
        } finally {
            if (!done && !message.content) messages.pop();
            answering = null;
            page.busy = false;
            growing?.end();
            draw();
            list.parentElement.removeAttribute("aria-busy");
            buttons();
            if (isFull) full();
        }
    }

    /** Where an answer's text grows: as Markdown if that is here, else as it is. */
    function growIn(body) {
        const said = document.createElement("div");
        said.className = "said";
        body.replaceChildren(said);
        return markdown ? new markdown.Growing(said) : { add: (piece) => said.append(piece), end: () => said.normalize() };
    }

    /** Another conversation begins with what stands before this message, and its text is there to be changed. */
    function edit(message) {
        const at = messages.indexOf(message), before = talks.current.id;
        if (page.busy || at < 0) return;
        talks.branch(at, model?.name);
        changed();
        text.value = message.content;
        text.focus();
        leaveEdit = () => {
            const mine = talks.current.id;
            talks.open(before, model?.name);
            talks.delete(mine);
            changed();
            text.value = "";
            text.focus();
        };
        notice("edit", "What you write now begins a conversation of its own, and the other one stays. Escape leaves it as it was.", { "Leave it as it was": leaveEdit });
    }

    let leaveEdit = null; // while a message is edited
    function edited() {
        leaveEdit = null;
        unsay("edit");
    }

    function say(content) {
        messages.push({ role: "user", content });
        return answer();
    }

    function regenerate() {
        if (page.busy || !model || !answerer() || !messages.length) return;
        if (messages.at(-1).role === "assistant") messages.pop();
        answer();
        text.focus(); // the button that had it is gone
    }

    function buttons() {
        $("send").hidden = answering !== null;
        $("stop").hidden = answering === null;
        $("send").disabled = !model || page.busy;
        for (const id of ["clear", "open-conversations"]) $(id).disabled = page.busy;
    }

    $("composer").onsubmit = (event) => {
        event.preventDefault();
        const content = text.value;
        if (!content.trim() || !model || page.busy || !answerer()) return;
        text.value = "";
        say(content);
        if (!matchMedia("(pointer: coarse)").matches) text.focus(); // the button that had it is gone; a phone's keyboard would hide the answer
    };
    text.onkeydown = (event) => {
        const mine = messages.findLast((m) => m.role === "user");
        if (event.key === "ArrowUp" && !text.value && mine) {
            event.preventDefault();
            return edit(mine);
        }
        if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
        event.preventDefault();
        $("composer").requestSubmit();
    };
    const stop = () => {
        answering?.abort();
        text.focus(); // the button that had it goes away
    };
    $("stop").onclick = stop;
    addEventListener("keydown", (event) => {
        if (event.key !== "Escape" || !(answering || leaveEdit) || document.querySelector("dialog[open]")) return;
        event.preventDefault();
        if (answering) stop();
        else leaveEdit();
    });
    text.onpaste = (event) => {
        if ([...(event.clipboardData?.files ?? [])].some((file) => file.type.startsWith("image/"))) page.trouble(new Error("Pictures cannot be read here: models answer to text alone"));
    };
    $("clear").onclick = () => {
        talks.begin(model?.name);
        changed();
        text.focus();
    };
    startConversations(talks, () => model?.name, {
        open(id) {
            if (page.busy) return;
            talks.open(id, model?.name);
            changed();
            text.focus();
        },
        changed,
        trouble: (error) => page.trouble(error),
    });

    // ---- settings

    const fill = () => Object.entries(settings).forEach(([name, value]) => (form.elements[name].value = value));
    form.oninput = ({ target }) => {
        if (!target.checkValidity()) return;
        const { name, value } = target;
        settings[name] = value === "" ? DEFAULTS[name] : target.type === "number" ? Number(value) : value;
        remember(KEPT_SETTINGS, settings);
    };
    form.elements.level.onchange = form.elements.context.onchange = () => model && page.reload?.();
    form.onreset = (event) => {
        event.preventDefault();
        const { level, context } = settings;
        settings = { ...DEFAULTS };
        remember(KEPT_SETTINGS, settings);
        fill();
        if (model && (level || context)) page.reload?.();
    };
    form.onsubmit = (event) => event.preventDefault();
    $("open-settings").onclick = ({ target }) => {
        form.hidden = !form.hidden;
        target.setAttribute("aria-expanded", String(!form.hidden));
    };

    function describe(now, { gpu } = {}) {
        model = now;
        $("model-name").textContent = model.name;
        $("model-facts").textContent = model.isRemote ? `on the server that this page is from · context ${model.context} tokens` : `${deviceName(gpu)}${gpu.adapter_type === "software" ? ", software: slow" : ""} · ${bytes(model.gpu_bytes)}, ${bytes(model.cache_bytes)} of it for a context of ${model.context}${model.context < model.trained_context ? ` (the model's: ${model.trained_context})` : ""} tokens · ${launches(model)}${model.improving ? "; fewer are being made ready" : ""}`;
        if (model.notice) page.trouble(new Error(model.notice));
    }

    fill();
    draw();
    buttons();
    import("./markdown.js").then((module) => {
        markdown = module;
        for (const [message, item] of shown) if (item.dataset.plain) show(item.querySelector(".text"), message.content);
        toEnd();
    }, () => {}); // answers are plain text then

    return {
        waiting: buttons,
        loadOptions: () => ({ level: settings.level || undefined, context: Number(settings.context) || undefined }),
        loaded(now, info) {
            describe(now, info);
            text.placeholder = model.format ? "Message" : "Once upon a time …";
            draw();
            buttons();
        },
        improved: describe,
        unloaded() {
            model = null;
            $("model-name").textContent = "No model";
            $("model-facts").textContent = "";
            buttons();
        },
        unavailable(why) {
            model = null;
            $("model-name").textContent = why;
            $("model-facts").textContent = "";
            buttons();
        },
    };
}
