// A context that is full: what can be done about it, for the visitor to choose.
import { say } from "./notices.js";

const SUMMARY_TOKENS = 256;
const CHARACTERS_PER_TOKEN = [2, 0.4]; // what is summarised takes about half of the context; where a letter is a token, or several

/** The older messages as one text, without the first of them where that is too long. */
export function transcriptOf(messages, characters) {
    const text = messages.map(({ role, content }) => `${role}: ${content.replace(/[^]*<\/think>/, "").trim()}`).join("\n");
    return text.slice(-characters);
}

async function summaryOf(answerer, messages, request, characters) {
    const asked = `Summarise this conversation in a few sentences, with all names and facts that matter:\n\n${transcriptOf(messages, characters)}`;
    const stream = await answerer.chat.completions.create({ ...request, messages: [{ role: "user", content: asked }], max_tokens: SUMMARY_TOKENS, stream: true });
    let summary = "", stopped = false;
    for await (const chunk of stream) {
        summary += chunk.choices[0]?.delta.content ?? "";
        stopped ||= chunk.solo?.end === "interrupted";
    }
    return stopped ? "" : summary.replace(/[^]*<\/think>/, "").trim();
}

/** The messages with a summary by the model in the place of all but the last; null if it was stopped. */
export async function compacted(answerer, messages, request) {
    const last = messages.at(-1), older = messages.slice(0, -1), [usual, least] = CHARACTERS_PER_TOKEN.map((n) => Math.floor(n * answerer.model.context));
    const summary = await summaryOf(answerer, older, request, usual).catch((error) => {
        if (error.lost) throw error;
        return summaryOf(answerer, older, request, least);
    });
    return summary ? [{ role: "user", content: `What was said before, in short: ${summary}\n\n${last.content}` }] : null;
}

/** @param acts { forget, compact, begin }; those that are null are not offered */
export function offerRoom(context, { forget, compact, begin }) {
    const offered = { "Leave out the oldest messages": forget, "Summarise what was said": compact, "New conversation": begin };
    say("full", `The context of ${context} tokens is full. Settings have a longer one, if the model and the memory allow it. How should it go on?`, Object.fromEntries(Object.entries(offered).filter(([, act]) => act)));
}
