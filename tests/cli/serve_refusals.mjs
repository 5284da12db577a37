// node tests/cli/serve_refusals.mjs URL KEY: requests that must be refused, each by its status and the field's name.
const [url, key] = process.argv.slice(2);
const TEXT = { prompt: "Once", max_tokens: 2 }, CHAT = { messages: [{ role: "user", content: "hi" }] };
const says = (...messages) => ({ messages });
const user = { role: "user", content: "hi" };
const tool = { type: "function", function: { name: "f", parameters: {} } };

// path, body, status, the field; a text is sent as it is
const REFUSED = [
    ["completions", "{", 400, null], ["completions", "[]", 400, null], ["completions", "", 400, null], ["completions", '{"prompt":"a","prompt":"b"}', 400, null],
    ["completions", "\xff", 400, null], ["completions", '{"prompt":"a\\u0000b"}', 400, null], ["completions", "[".repeat(100000), 400, null],
    ["completions", {}, 400, "prompt"], ["completions", { prompt: 5 }, 400, "prompt"], ["completions", { prompt: [] }, 400, "prompt"],
    ["completions", { prompt: ["a", 5] }, 400, "prompt[1]"], ["completions", { prompt: [1, -5] }, 400, "prompt"], ["completions", { prompt: [1e9] }, 400, "prompt"],
    ["completions", { prompt: Array(65).fill("a") }, 400, "prompt"], ["completions", { prompt: "word ".repeat(600) }, 400, "prompt"],
    ["completions", { ...TEXT, model: "gpt-4" }, 404, "model"], ["completions", { ...TEXT, model: 4 }, 400, "model"],
    ["completions", { ...TEXT, nonsense: 1 }, 400, "nonsense"], ["completions", { ...TEXT, suffix: "x" }, 400, "suffix"], ["completions", { ...TEXT, best_of: 2 }, 400, "best_of"],
    ["completions", { ...TEXT, temperature: 3 }, 400, "temperature"], ["completions", { ...TEXT, temperature: -1 }, 400, "temperature"],
    ["completions", { ...TEXT, temperature: "1" }, 400, "temperature"], ["completions", '{"prompt":"a","temperature":1e999}', 400, null],
    ["completions", { ...TEXT, top_p: 1.5 }, 400, "top_p"], ["completions", { ...TEXT, top_k: -1 }, 400, "top_k"], ["completions", { ...TEXT, top_k: 1.5 }, 400, "top_k"],
    ["completions", { ...TEXT, min_p: 2 }, 400, "min_p"], ["completions", { ...TEXT, repeat_penalty: -1 }, 400, "repeat_penalty"],
    ["completions", { ...TEXT, frequency_penalty: 3 }, 400, "frequency_penalty"], ["completions", { ...TEXT, presence_penalty: -3 }, 400, "presence_penalty"],
    ["completions", { ...TEXT, seed: 1.5 }, 400, "seed"], ["completions", { ...TEXT, n: 0 }, 400, "n"], ["completions", { ...TEXT, n: 17 }, 400, "n"],
    ["completions", { ...TEXT, n: 6 }, 400, "n"], // more than this server's places
    ["completions", { ...TEXT, max_tokens: 0 }, 400, "max_tokens"], ["completions", { ...TEXT, max_tokens: -1 }, 400, "max_tokens"],
    ["completions", { ...TEXT, max_completion_tokens: 1 }, 400, "max_completion_tokens"],
    ["completions", { ...TEXT, stop: "" }, 400, "stop"], ["completions", { ...TEXT, stop: ["a", 1] }, 400, "stop[1]"], ["completions", { ...TEXT, stop: Array(17).fill("a") }, 400, "stop"],
    ["completions", { ...TEXT, logprobs: 6 }, 400, "logprobs"], ["completions", { ...TEXT, logprobs: true }, 400, "logprobs"],
    ["completions", { ...TEXT, logprobs: 1, echo: true }, 400, "logprobs"], ["completions", { ...TEXT, echo: 1 }, 400, "echo"],
    ["completions", { ...TEXT, logit_bias: [] }, 400, "logit_bias"], ["completions", { ...TEXT, logit_bias: { a: 1 } }, 400, "logit_bias.a"],
    ["completions", { ...TEXT, logit_bias: { "-1": 1 } }, 400, "logit_bias.-1"], ["completions", { ...TEXT, logit_bias: { 5: 101 } }, 400, "logit_bias.5"],
    ["completions", { ...TEXT, logit_bias: { 4000000: 1 } }, 400, "logit_bias"], ["completions", { ...TEXT, stream: "yes" }, 400, "stream"],
    ["completions", { ...TEXT, stream_options: { include_usage: true } }, 400, "stream_options"],
    ["completions", { ...TEXT, stream: true, stream_options: { other: true } }, 400, "stream_options.other"],
    ["completions", { ...TEXT, user: 5 }, 400, "user"], ["completions", { ...TEXT, messages: [] }, 400, "messages"],
    ["chat/completions", {}, 400, "messages"], ["chat/completions", says(), 400, "messages"], ["chat/completions", { messages: "hi" }, 400, "messages"],
    ["chat/completions", says("hi"), 400, "messages[0]"], ["chat/completions", says({ content: "hi" }), 400, "messages[0]"],
    ["chat/completions", says({ role: "user" }), 400, "messages[0]"], ["chat/completions", says({ role: "robot", content: "hi" }), 400, "messages[0].role"],
    ["chat/completions", says(user, { ...user, content: 5 }), 400, "messages[1].content"], ["chat/completions", says({ ...user, other: 1 }), 400, "messages[0].other"],
    ["chat/completions", says({ role: "user", content: [{ type: "image_url", image_url: { url: "data:," } }] }), 400, "messages[0].content[0]"],
    ["chat/completions", says({ ...user, tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }] }), 400, "messages[0]"],
    ["chat/completions", says({ role: "assistant", tool_calls: [{ id: "1" }] }), 400, "messages[0].tool_calls"], ["chat/completions", says({ role: "tool", content: "4" }), 400, "messages[0]"],
    ["chat/completions", says({ ...user, name: "me" }), 400, "messages[0]"],
    ["chat/completions", { ...CHAT, tools: {} }, 400, "tools"], ["chat/completions", { ...CHAT, tools: [{ type: "function" }] }, 400, "tools"],
    ["chat/completions", { ...CHAT, tools: [{ ...tool, function: { ...tool.function, strict: true } }] }, 400, "tools[0]"],
    ["chat/completions", { ...CHAT, tool_choice: "auto" }, 400, "tool_choice"], ["chat/completions", { ...CHAT, tools: [tool], tool_choice: "always" }, 400, "tool_choice"],
    ["chat/completions", { ...CHAT, tools: [tool], tool_choice: { type: "function" } }, 400, "tool_choice"],
    ["chat/completions", { ...CHAT, parallel_tool_calls: false }, 400, "parallel_tool_calls"], ["chat/completions", { ...CHAT, functions: [] }, 400, "functions"],
    ["chat/completions", { ...CHAT, top_logprobs: 2 }, 400, "top_logprobs"], ["chat/completions", { ...CHAT, logprobs: true, top_logprobs: 21 }, 400, "top_logprobs"],
    ["chat/completions", { ...CHAT, max_tokens: 5, max_completion_tokens: 5 }, 400, "max_completion_tokens"],
    ["chat/completions", { ...CHAT, store: true }, 400, "store"], ["chat/completions", { ...CHAT, service_tier: "flex" }, 400, "service_tier"],
    ["chat/completions", { ...CHAT, modalities: ["audio"] }, 400, "modalities"], ["chat/completions", { ...CHAT, reasoning_effort: "high" }, 400, "reasoning_effort"],
    ["chat/completions", { ...CHAT, audio: {} }, 400, "audio"], ["chat/completions", { ...CHAT, prediction: {} }, 400, "prediction"],
    ["chat/completions", { ...CHAT, web_search_options: {} }, 400, "web_search_options"], ["chat/completions", CHAT, 400, "messages"], // no template
    ["completions", { ...TEXT, grammar: "root ::= [^\\x00-\\U0010FFFF]" }, 400, "grammar"], // describes no text
    ["completions", { ...TEXT, logit_bias: { "01": 1 } }, 400, "logit_bias.01"], ["completions", { ...TEXT, logit_bias: { " 1": 1 } }, 400, "logit_bias. 1"],
    ["completions", { ...TEXT, grammar: 5 }, 400, "grammar"], ["completions", { ...TEXT, grammar: "root ::= x" }, 400, "grammar"],
    ["completions", { ...TEXT, grammar: "root ::= root" }, 400, "grammar"], ["completions", { ...TEXT, grammar: "x".repeat(200000) }, 400, "grammar"],
    ["completions", { ...TEXT, response_format: "json" }, 400, "response_format"], ["completions", { ...TEXT, response_format: { type: "xml" } }, 400, "response_format"],
    ["completions", { ...TEXT, response_format: { type: "json_object", other: 1 } }, 400, "response_format"],
    ["completions", { ...TEXT, response_format: { type: "json_schema" } }, 400, "response_format"],
    ["completions", { ...TEXT, response_format: { type: "json_schema", json_schema: { name: "x" } } }, 400, "response_format.json_schema"],
    ["completions", { ...TEXT, response_format: { type: "json_schema", json_schema: { schema: { type: "string", pattern: "a" } } } }, 400, "response_format.json_schema.schema"],
    ["completions", { ...TEXT, grammar: 'root ::= "a"', response_format: { type: "json_object" } }, 400, "response_format"],
    ["chat/completions", { ...CHAT, tools: [tool], grammar: 'root ::= "a"' }, 400, "grammar"],
    ["embeddings", { input: "a" }, 400, "model"], ["nothing", {}, 404, null], ["completions", { prompt: "x".repeat(300000) }, 413, null],
];

const post = (path, body, headers = {}) => fetch(`${url}v1/${path}`, { method: "POST", body,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers } });
const wrong = [];
async function expect(what, reply, status, param) {
    const { error } = await reply.json().catch(() => ({}));
    if (reply.status !== status || !error?.message || typeof error.type !== "string" || error.param !== param)
        wrong.push(`${what}: ${reply.status} ${JSON.stringify(error)}`);
}
for (const [path, body, status, param] of REFUSED) {
    const sent = typeof body === "string" ? body : JSON.stringify(body);
    await expect(`${path} ${sent.slice(0, 100)}`, await post(path, typeof body === "string" ? Buffer.from(body, "latin1") : sent), status, param);
}
console.log(wrong.length ? `not ok refusals name the field: ${wrong.join("; ")}` : `ok refusals name the field (${REFUSED.length})`);

wrong.length = 0;
const good = JSON.stringify(TEXT);
await expect("no key", await fetch(`${url}v1/models`), 401, null);
await expect("a wrong key", await post("completions", good, { authorization: "Bearer second-kex" }), 401, null);
await expect("half a key", await post("completions", good, { authorization: "Bearer second" }), 401, null);
await expect("a key by another scheme", await post("completions", good, { authorization: "Basic second-key" }), 401, null);
await expect("GET", await fetch(`${url}v1/completions`, { headers: { authorization: `Bearer ${key}` } }), 405, null);
await expect("DELETE", await fetch(`${url}v1/models`, { method: "DELETE", headers: { authorization: `Bearer ${key}` } }), 405, null);
await expect("another type", await post("completions", good, { "content-type": "text/plain" }), 415, null);
await expect("another page", await post("completions", good, { origin: "https://evil.example" }), 403, null);
await expect("another model", await fetch(`${url}v1/models/other`, { headers: { authorization: `Bearer ${key}` } }), 404, "model");
console.log(wrong.length ? `not ok who may ask: ${wrong.join("; ")}` : "ok who may ask");

const preflight = await fetch(`${url}v1/completions`, { method: "OPTIONS", headers: { origin: "https://page.example" } });
console.log(preflight.status === 204 && preflight.headers.get("access-control-allow-origin") === "https://page.example" ? "ok a page that may ask"
    : `not ok a page that may ask: ${preflight.status}`);
const after = await (await post("completions", good)).json();
console.log(after.usage?.completion_tokens === 2 ? "ok it serves on after all that" : `not ok it serves on after all that: ${JSON.stringify(after)}`);
