// node tests/cli/serve_chat.mjs URL: chats, tools and thoughts, with the model of make_bigram.py. Prints ok and not ok.
import assert from "node:assert/strict";
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}v1`, apiKey: "unused", maxRetries: 0 });
const USER = { role: "user", content: "hi" };
const TOOLS = [{ type: "function", function: { name: "add", parameters: { type: "object", properties: { a: { type: "integer" } } } } }];
const chat = (more) => client.chat.completions.create({ model: "parrot", messages: [USER], temperature: 0, ...more });
async function streamed(more) {
    const all = { content: "", thoughts: "", calls: [] };
    for await (const chunk of await chat({ ...more, stream: true, stream_options: { include_usage: true } })) {
        all.usage = chunk.usage ?? all.usage;
        const [choice] = chunk.choices;
        if (!choice) continue;
        all.role ??= choice.delta.role;
        all.content += choice.delta.content ?? "";
        all.thoughts += choice.delta.reasoning_content ?? "";
        all.calls.push(...(choice.delta.tool_calls ?? []));
        all.finish = choice.finish_reason ?? all.finish;
    }
    return all;
}

const TESTS = {
    async "a chat"() {
        const reply = await chat();
        assert.equal(reply.object, "chat.completion");
        assert.deepEqual(reply.choices[0].message, { role: "assistant", content: "Hello.", refusal: null });
        assert.equal(reply.choices[0].finish_reason, "stop");
    },
    async "a chat as a stream"() {
        const all = await streamed();
        assert.deepEqual([all.role, all.content, all.finish, all.thoughts], ["assistant", "Hello.", "stop", ""]);
        assert.ok(all.usage.prompt_tokens > 5);
    },
    async "all roles, parts, and what null means"() {
        const messages = [{ role: "developer", content: "be short" }, { role: "user", content: [{ type: "text", text: "a" }, { type: "text", text: "b" }] },
            { role: "assistant", content: "x", reasoning_content: "y", refusal: null }, USER];
        assert.equal((await chat({ messages, stop: null, tools: null, store: false, seed: null })).choices[0].message.content, "Hello.");
    },
    async "a tool is called"() {
        const [choice] = (await chat({ tools: TOOLS })).choices;
        assert.equal(choice.finish_reason, "tool_calls");
        assert.equal(choice.message.content, null);
        assert.equal(choice.message.tool_calls[0].function.name, "add");
        assert.deepEqual(JSON.parse(choice.message.tool_calls[0].function.arguments), { a: 1, b: 3 });
        const messages = [USER, choice.message, { role: "tool", tool_call_id: choice.message.tool_calls[0].id, content: "4" }];
        assert.equal((await chat({ tools: TOOLS, messages })).choices[0].message.content, "Four.");
    },
    async "a tool is called in a stream"() {
        const all = await streamed({ tools: TOOLS, parallel_tool_calls: false });
        assert.deepEqual([all.content, all.finish, all.calls.length], ["", "tool_calls", 1]);
        assert.equal(all.calls[0].index, 0);
        assert.deepEqual(JSON.parse(all.calls[0].function.arguments), { a: 1, b: 3 });
    },
    async "no tool is called if that is said"() {
        assert.equal((await chat({ tools: TOOLS, tool_choice: "none" })).choices[0].message.content, "Hello.");
    },
    async "a tool is called if it has to be"() {
        const parameters = { type: "object", properties: { x: { type: "integer" }, ok: { type: "boolean" } }, required: ["x", "ok"], additionalProperties: false };
        const tools = ["first", "second"].map((name) => ({ type: "function", function: { name, parameters, strict: true } }));
        for (const tool_choice of ["required", { type: "function", function: { name: "second" } }]) {
            const { message, finish_reason } = (await chat({ tools, tool_choice, temperature: 1, seed: 7 })).choices[0];
            const [call] = message.tool_calls, { x, ok } = JSON.parse(call.function.arguments);
            assert.equal(finish_reason, "tool_calls");
            assert.ok(Number.isInteger(x) && typeof ok === "boolean");
            assert.ok(["first", "second"].slice(tool_choice === "required" ? 0 : 1).includes(call.function.name));
        }
        await assert.rejects(chat({ tools, tool_choice: { type: "function", function: { name: "third" } } }), (error) => error.param === "tool_choice");
        const dated = [{ type: "function", function: { name: "f", parameters: { type: "string", format: "date" } } }];
        await assert.rejects(chat({ tools: dated, tool_choice: "required" }), (error) => error.param === "tools");
    },
    async "a client that runs the tools itself"() {
        const runner = client.chat.completions.runTools({ model: "parrot", messages: [USER], temperature: 0,
            tools: [{ type: "function", function: { ...TOOLS[0].function, function: ({ a, b }) => String(a + b), parse: JSON.parse } }] });
        assert.equal(await runner.finalContent(), "Four.");
    },
    async "thoughts are apart"() {
        const think = { chat_template_kwargs: { enable_thinking: true } };
        const reply = await chat(think), { message } = reply.choices[0];
        assert.deepEqual([message.reasoning_content.trim(), message.content], ["Well.", "Indeed."]);
        const all = await streamed(think);
        assert.deepEqual([all.thoughts.trim(), all.content], ["Well.", "Indeed."]);
        assert.equal((await chat({ reasoning_effort: "none" })).choices[0].message.content, "Hello.");
    },
    async "likelihoods of a chat"() {
        const { content } = (await chat({ logprobs: true, top_logprobs: 2 })).choices[0].logprobs;
        assert.equal(content[0].token, "Hello.");
        assert.equal(content[0].top_logprobs.length, 2);
        assert.equal(content[0].logprob, content[0].top_logprobs[0].logprob);
        assert.deepEqual(content[0].bytes, [...Buffer.from("Hello.")]);
    },
    async "formats, where one text is made at a time"() {
        const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"], additionalProperties: false };
        for (const seed of [1, 2, 3]) {
            const { choices: [choice] } = await chat({ temperature: 1, seed, response_format: { type: "json_schema", json_schema: { name: "x", schema } } });
            assert.equal(typeof JSON.parse(choice.message.content).ok, "boolean");
            assert.equal(choice.finish_reason, "stop");
        }
        const any = await chat({ temperature: 1, seed: 1, max_tokens: 20, response_format: { type: "json_object" } });
        assert.match(any.choices[0].message.content, /^\s?\s*\{/);
        assert.equal((await chat({ response_format: { type: "text" } })).choices[0].message.content, "Hello.");
        assert.equal((await chat({ grammar: 'root ::= "Hello."' })).choices[0].message.content, "Hello.");
    },
    async "biases and penalties, where one text is made at a time"() {
        // 264 is "Hello.", 33 and 34 are ! and "
        const forced = { logit_bias: { 33: 100, 264: -100 }, max_tokens: 3, temperature: 0.5, seed: 4 };
        assert.equal((await chat(forced)).choices[0].message.content, "!!!");
        const of_seeds = [];
        for (const seed of [0, -1, 1, 2 ** 32, 2 ** 32 + 1, -(2 ** 32)]) {
            of_seeds.push((await chat({ logit_bias: { 33: 100, 34: 100, 264: -100 }, max_tokens: 24, temperature: 1, seed })).choices[0].message.content);
        }
        assert.equal(new Set(of_seeds).size, of_seeds.length);
        const two = { logit_bias: { 33: 100, 34: 99, 264: -100 }, max_tokens: 4, frequency_penalty: 2 };
        assert.equal((await chat(two)).choices[0].message.content, '!"!"');
        assert.equal((await chat({ ...two, frequency_penalty: 0, presence_penalty: 2 })).choices[0].message.content, '!"!!');
    },
    async "errors arrive as the client's"() {
        await assert.rejects(chat({ temperature: 5 }), (error) => error instanceof OpenAI.BadRequestError && error.param === "temperature");
        await assert.rejects(chat({ model: "other" }), OpenAI.NotFoundError);
    },
};

for (const [name, test] of Object.entries(TESTS))
    await test().then(() => console.log(`ok ${name}`), (error) => console.log(`not ok ${name}: ${String(error.stack ?? error).slice(0, 600)}`));
