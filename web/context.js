// A context that is full: what can be done about it, for the visitor to choose.
import { say } from "./notices.js";

const SUMMARY_TOKENS = 256, CHARACTERS_PER_TOKEN = 2; // so that what is summarised takes about half of the context

/** The older messages as one text, without the first of them where that is too long. */
export function transcriptOf(messages, context) {
    const text = messages.map(({ role, content }) => `${role}: ${content.replace(/[^]*<\/think>/, "").trim()}`).join("\n");
    return text.slice(-context * CHARACTERS_PER_TOKEN);
}

/** The messages with a summary by the model in the place of all but the last; null if it was stopped. */
export async function compacted(answerer, messages, request) {
    const last = messages.at(-1), older = messages.slice(0, -1);
    const asked = `Summarise this conversation in a few sentences, with all names and facts that matter:\n\n${transcriptOf(older, answerer.model.context)}`;
    const stream = await answerer.chat.completions.create({ ...request, messages: [{ role: "user", content: asked }], max_tokens: SUMMARY_TOKENS, stream: true });
    let summary = "", stopped = false;
    for await (const chunk of stream) {
        summary += chunk.choices[0]?.delta.content ?? "";
        stopped ||= chunk.solo?.end === "interrupted";
    }
    summary = summary.replace(/[^]*<\/think>/, "").trim();
    return stopped || !summary ? null : [{ role: "user", content: `What was said before, in short: ${summary}\n\n${last.content}` }];
}

/** @param acts { forget, compact, begin }; those that are null are not offered */
export function offerRoom(context, { forget, compact, begin }) {
    const offered = { "Leave out the oldest messages": forget, "Summarise what was said": compact, "New conversation": begin };
    say("full", `The context of ${context} tokens is full. Settings have a longer one, if the model and the memory allow it. How should it go on?`, Object.fromEntries(Object.entries(offered).filter(([, act]) => act)));
}
