// Answers as Markdown: headings, lists, tables, code with a button to copy it. A model's text is a stranger's: what comes
// out has only elements that cannot load or run anything, and pictures are named, not fetched. Formulas stay as written.
import { Marked } from "./marked.js";
import "./purify.js"; // puts DOMPurify into globalThis
import { copy } from "./format.js";

const TAGS = ["a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"];
const ATTRIBUTES = ["align", "class", "href", "start", "title"];
const ESCAPES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escape = (text) => text.replace(/[&<>"]/g, (c) => ESCAPES[c]);

/** $$ … $$, \[ … \], \( … \): their backslashes and underlines are not Markdown's. */
const formula = (level, begins, rule) => ({
    name: `formula-${level}`, level,
    start: (text) => text.search(begins),
    tokenizer(text) {
        const found = rule.exec(text);
        return found ? { type: `formula-${level}`, raw: found[0], text: found[0].trim() } : undefined;
    },
    renderer: ({ text }) => (level === "block" ? `<p class="formula">${escape(text)}</p>\n` : `<span class="formula">${escape(text)}</span>`),
});

const marked = new Marked({
    gfm: true, breaks: true,
    extensions: [formula("block", /(?<=\n)(?:\$\$|\\\[)/, /^(?:\$\$[\s\S]+?\$\$|\\\[[\s\S]+?\\\])[ \t]*(?:\n|$)/), formula("inline", /\$\$|\\[[(]/, /^(?:\$\$[^\n]+?\$\$|\\\([^\n]+?\\\)|\\\[[^\n]+?\\\])/)],
    renderer: {
        html: ({ text }) => escape(text), // shown as it was written
        image: ({ text, href }) => `<span class="soft">[picture: ${escape(text || href)}]</span>`,
    },
});

function dress(fragment) {
    for (const link of fragment.querySelectorAll("a[href]")) {
        link.target = "_blank";
        link.rel = "noopener noreferrer";
    }
    for (const table of fragment.querySelectorAll("table")) {
        const box = document.createElement("div");
        box.className = "scroll";
        table.replaceWith(box);
        box.append(table);
    }
    for (const code of fragment.querySelectorAll("pre")) {
        const [box, head, language] = ["div", "div", "span"].map((tag) => document.createElement(tag)), button = document.createElement("button"), text = code.textContent;
        box.className = "code";
        language.textContent = code.querySelector("code")?.className.match(/language-(\S+)/)?.[1] ?? "";
        button.type = "button";
        button.textContent = "Copy";
        button.setAttribute("aria-label", "Copy this code");
        button.onclick = async () => {
            button.textContent = await copy(text) ? "Copied" : "Not allowed here";
            setTimeout(() => (button.textContent = "Copy"), 1500);
        };
        code.replaceWith(box);
        code.tabIndex = 0; // so that the keyboard can scroll it
        head.append(language, button);
        box.append(head, code);
    }
    return fragment;
}

const elementsOf = (html) => dress(globalThis.DOMPurify.sanitize(html, { ALLOWED_TAGS: TAGS, ALLOWED_ATTR: ATTRIBUTES, ADD_URI_SAFE_ATTR: ["align", "start"], ALLOW_DATA_ATTR: false, ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i, RETURN_DOM_FRAGMENT: true }));

/** All of a text. */
export const render = (text) => elementsOf(marked.parse(text));

/**
 * A text that still grows, in an element: blocks that are complete become Markdown, once; the rest is text that is added
 * to. So nothing that stands there is made anew, and a screen reader reads only what is new.
 */
export class Growing {
    #into;
    #text = "";
    #done = 0; // characters that are elements now
    #rest = document.createTextNode("");

    constructor(into) {
        this.#into = into;
        into.append(this.#rest);
    }

    add(piece) {
        this.#text += piece;
        const blocks = piece.includes("\n") ? marked.lexer(this.#text.slice(this.#done)) : [];
        const last = blocks.findLastIndex((block) => block.type !== "space");
        const whole = blocks.slice(0, Math.max(last, 0)).map((block) => block.raw).join("");
        if (whole.trim()) this.#settle(whole.length);
        else this.#rest.appendData(piece);
    }

    #settle(count) {
        const at = this.#done + count;
        this.#rest.before(render(this.#text.slice(this.#done, at)));
        this.#done = at;
        this.#rest.data = this.#text.slice(at);
    }

    end() {
        this.#settle(this.#text.length - this.#done);
    }
}
