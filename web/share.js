// Sending a measurement to a collector (solo collect): nothing is sent before it was shown, and nothing else than was shown.
import { escape } from "./plot.js";
import { short } from "./format.js";

const KNOWN = ["schema", "solo", "when", "host", "gpu", "gpus", "clock_ns", "clock_cost_ns", "experiment", "params", "results", "checks", "claims"];
const UNKNOWN_HERE = "The collector cannot be reached, or does not take records from this page (its --allow-origin says from which it does).";

/** What is sent of a record, as text: measurements, without generated tokens, and of a model's place only its name. */
export function toSend(record) {
    const kept = Object.fromEntries(KNOWN.filter((key) => key in record).map((key) => [key, record[key]])), model = kept.params?.model;
    if (typeof model === "string") kept.params = { ...kept.params, model: model.replace(/[?#].*/s, "").replace(/.*[/\\]/s, "") };
    return JSON.stringify(kept);
}

async function ask(url, options) {
    const response = await fetch(url, options).catch(() => {
        throw Error(UNKNOWN_HERE);
    });
    const text = await response.text();
    if (!response.ok) throw Error(text.split("\n")[0].slice(0, 300) || `status ${response.status}`);
    return JSON.parse(text);
}

/** Sends one such text; where it is then, and where it stands among others. */
export async function send(collector, text) {
    const root = collector.replace(/\/+$/, ""), { id, page } = await ask(`${root}/api/records`, { method: "POST", headers: { "Content-Type": "application/json" }, body: text });
    const { standing } = await ask(`${root}/api/records/${id}/standing`).catch(() => ({ standing: [] }));
    return { address: root + page, standing };
}

const UNITS = { us: "µs", times: "×" };

/** "decode, tg64, loop: 9823 tok/s, faster than 64% of 91 others" */
export function standingText({ family, subject, variant, unit, value, others, better_than }) {
    const among = others ? `${unit === "times" ? "more" : "faster"} than ${Math.round(100 * better_than)}% of ${others} other${others === 1 ? "" : "s"}` : "the first of its kind";
    return `${family}, ${subject}, ${variant}: ${short(value)} ${UNITS[unit] ?? unit}, ${among}`;
}

export const shareMarkup = `<details data-share><summary>Share this measurement</summary>
<p>Sends it to a collector, where everybody can read it. Nothing is sent before you have seen it.</p>
<p class="row"><label>Collector <input type="url" placeholder="https://" size="30"></label><button type="button" data-show>Show what would be sent</button></p>
<div data-shown hidden><pre class="scroll" tabindex="0"></pre><p class="row"><button type="button" data-send>Send this</button></p></div><div data-said role="status"></div></details>`;

/** Makes what shareMarkup has put into `into` work; `records` are those of the measurement. */
export function startShare(into, records) {
    const box = into.querySelector("[data-share]"), part = (name) => box.querySelector(name), said = part("[data-said]");
    let texts = [];
    part("[data-show]").onclick = () => {
        texts = records.map(toSend);
        part("pre").textContent = texts.join("\n");
        part("[data-shown]").hidden = false;
        said.textContent = "";
    };
    part("[data-send]").onclick = async () => {
        const collector = part("input").value.trim();
        if (!/^https?:\/\/./.test(collector)) {
            said.textContent = "Where to? The collector's address begins with https:// or http://.";
            return;
        }
        part("[data-send]").disabled = true;
        const lines = [];
        for (const text of texts)
            await send(collector, text).then(
                ({ address, standing }) => lines.push(`<p><a href="${escape(address)}">Sent</a></p><ul>${standing.map((s) => `<li>${escape(standingText(s))}</li>`).join("")}</ul>`),
                (error) => lines.push(`<p>Not taken: ${escape(error.message)}</p>`));
        said.innerHTML = lines.join("");
        part("[data-send]").disabled = false;
    };
}
