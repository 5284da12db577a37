import React, { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { useSolo } from "./useSolo.js";

function Storyteller() {
    const { status, progress, text, error, ask, stop } = useSolo();
    const [beginning, setBeginning] = useState("Once upon a time");
    const submit = (event) => {
        event.preventDefault();
        ask(beginning, { max_tokens: 100 });
    };
    return (
        <form onSubmit={submit}>
            <input aria-label="the beginning" value={beginning} onChange={(event) => setBeginning(event.target.value)} />
            {status === "answering" ? <button type="button" onClick={stop}>Stop</button> : <button disabled={status !== "ready"}>Continue</button>}
            <output data-status={status}>{text}</output>
            {status === "loading" && <p>{progress ? `${progress.what}: ${Math.round((100 * progress.done) / progress.total)}%` : "starting"}</p>}
            {error && <p role="alert">{error.message}</p>}
        </form>
    );
}

createRoot(document.getElementById("root")).render(<StrictMode><Storyteller /></StrictMode>);
