// A language model for a component:
//
//     const { status, text, ask, stop } = useSolo();
//
// The model is loaded with the component and ends with it. `status` is "loading", "ready", "answering" or "failed" (then
// `error` says why); `text` is the answer so far.
import { useCallback, useEffect, useRef, useState } from "react";
import { Solo } from "solo-gpu";

/** @param options of Solo.load, as they are at the first rendering */
export function useSolo(options = {}) {
    const [state, setState] = useState({ status: "loading", progress: null, text: "", error: null });
    const change = useCallback((some) => setState((all) => ({ ...all, ...some })), []);
    const solo = useRef(null), first = useRef(options), stopping = useRef(null);

    useEffect(() => {
        let gone = false; // StrictMode mounts twice: the first model must not outlive its component
        Solo.load({ ...first.current, onProgress: (progress) => gone || change({ progress }) }).then(
            (loaded) => {
                if (gone) return loaded.end();
                solo.current = loaded;
                change({ status: "ready", progress: null });
            },
            (error) => gone || change({ status: "failed", error }),
        );
        return () => {
            gone = true;
            solo.current?.end();
            solo.current = null;
        };
    }, [change]);

    /** @param messages a text, or messages in OpenAI's shape */
    const ask = useCallback(async (messages, request = {}) => {
        if (!solo.current) return;
        const asked = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
        stopping.current?.abort();
        const mine = (stopping.current = new AbortController());
        change({ status: "answering", text: "", error: null });
        try {
            let text = "";
            for await (const chunk of await solo.current.chat.completions.create({ ...request, messages: asked, stream: true, signal: mine.signal })) {
                text += chunk.choices[0].delta.content ?? "";
                change({ text });
            }
            if (stopping.current === mine) change({ status: "ready" });
        } catch (error) {
            if (!error.cancelled) change({ status: error.lost ? "failed" : "ready", error });
        }
    }, [change]);

    const stop = useCallback(() => stopping.current?.abort(), []);
    return { ...state, ask, stop };
}
