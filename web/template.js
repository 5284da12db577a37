// Chat templates, run by a wasm module of their own (src/web/chat_module.c): few models in memory need it more than once
// per message, and a page without such a model never fetches it.
import { fetchModule } from "./program.js";
import { instantiate } from "./wasm.js";

export class Templates {
    #wasm = null; // a promise

    /** Runs `act` with a copy of bytes in the module's memory. After a trap the module is not used again. */
    #with(given, act) {
        const { exports, bytes } = this.wasm, at = exports.solo_alloc(given.length + 1);
        if (!at) throw new Error("out of memory");
        bytes(at, given.length).set(given);
        let result;
        try {
            result = act(at);
        } catch (error) {
            this.#wasm = null;
            throw new Error(`chat template: ${error.message}`);
        }
        exports.solo_free(at);
        return result;
    }

    static #said = (wasm) => wasm.bytes(wasm.exports.solo_said(), wasm.exports.solo_said_bytes());

    /** @returns a number for the template; throws what is wrong with it, with its line */
    async open(text) {
        this.#wasm ??= fetchModule("solo-chat.wasm").then((module) => instantiate(module, () => ({})));
        this.wasm = await this.#wasm.catch((error) => {
            this.#wasm = null; // the next model tries again
            throw error;
        });
        const opened = this.#with(text, (at) => this.wasm.exports.chat_open(at, text.length));
        if (!opened) throw new Error(new TextDecoder().decode(Templates.#said(this.wasm).slice()));
        return opened;
    }

    close(template) {
        this.wasm.exports.chat_close(template);
    }

    /** @returns how many bytes the text has, for take() */
    render(template, packed, ask, think) {
        const now = new Date(), local = now.getTime() / 1000 - now.getTimezoneOffset() * 60;
        const ok = this.#with(packed, (at) => this.wasm.exports.chat_render_packed(template, at, packed.length, ask, think, local));
        if (!ok) throw new Error(new TextDecoder().decode(Templates.#said(this.wasm).slice()));
        return this.wasm.exports.solo_said_bytes();
    }

    take(act) {
        const made = Templates.#said(this.wasm);
        act(made, this.wasm.bytes(this.wasm.exports.chat_plain(), made.length));
    }
}
