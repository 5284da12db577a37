// node tools/web_size.mjs FOLDER: how large the page is, and whether that is small enough.
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { join } from "node:path";

const WASM_LIMIT = 400_000, PAGE_LIMIT = 600_000;
const [, , folder] = process.argv;
const kb = (bytes) => `${(bytes / 1000).toFixed(0)} kB`;

let page = 0, failed = false;
for (const name of readdirSync(folder).sort()) {
    // what a visitor fetches: one of the two wasm files, and the model apart; types are for editors
    if (name.startsWith(".") || name.endsWith(".gguf") || name.endsWith(".d.ts")) continue;
    const bytes = readFileSync(join(folder, name)), small = gzipSync(bytes, { level: 9 }).length;
    if (name.endsWith(".wasm")) {
        console.log(`${name}: ${kb(bytes.length)}, ${kb(small)} compressed`);
        failed ||= bytes.length > WASM_LIMIT;
    }
    if (!/^solo-(sim|torch)[.-]/.test(name)) page += small; // simulations and programs of PyTorch are fetched only where a page asks for one
}
console.log(`the page without its model: ${kb(page)} compressed, both forms of the wasm counted`);
failed ||= page > PAGE_LIMIT;
if (failed) {
    console.error(`web: too large (a wasm at most ${kb(WASM_LIMIT)}, the page ${kb(PAGE_LIMIT)} compressed)`);
    process.exit(1);
}
