// The popup: asks background.js for the continuation of a text, and shows it as it comes.
const answer = document.getElementById("answer"), button = document.querySelector("button");

document.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const port = chrome.runtime.connect(), end = () => (port.disconnect(), (button.disabled = false));
    button.disabled = true;
    answer.textContent = "";
    port.onMessage.addListener(({ text, done, error }) => {
        if (text) answer.textContent += text;
        if (error) answer.textContent = error;
        if (done) answer.title = `${done.tokens_per_s.toFixed(0)} tokens per second`;
        if (done || error) end();
    });
    port.postMessage({ prompt: document.querySelector("textarea").value });
});
