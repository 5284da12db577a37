// Downloads of models, without a browser: files in memory, and servers that say little of what they send.
import { createHash } from "node:crypto";
import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { done, equal, test, thrown, yes } from "./check.mjs";
import { Folder } from "./files.mjs";
import { serve } from "./server.mjs";

const { deleteKept, listKept, urlSource } = await import(`${process.env.SOLO_PAGE}/models.js`);
const SIZE = 300_000, model = new Uint8Array(SIZE).map((_, i) => (i * 7 + (i >> 8)) & 255), folder = mkdtempSync(join(tmpdir(), "solo-"));
model.set(new TextEncoder().encode("GGUF"));
writeFileSync(join(folder, "a.gguf"), model);
const sha256 = createHash("sha256").update(model).digest("hex");
const server = await serve(folder, { models: { "a.gguf": join(folder, "a.gguf") } });
const url = (query = "") => `${server.url}/models/a.gguf${query}`;

let root = null;
Object.defineProperty(globalThis, "navigator", { value: { storage: { getDirectory: async () => root ?? Promise.reject(new Error("no place")), persist: async () => true, estimate: async () => ({}) } }, configurable: true });
const afresh = () => {
    root = new Folder();
    server.requests.length = 0;
};
const kept = async () => root.getDirectoryHandle("models");
const dataOf = async () => [...(await kept()).files].find(([name]) => name.endsWith(".data"))[1];
const noteOf = async () => [...(await kept()).files].find(([name]) => name.endsWith(".json"))[1];
const note = async () => JSON.parse(new TextDecoder().decode((await noteOf()).data));
const setNote = async (change) => ((await noteOf()).data = new TextEncoder().encode(JSON.stringify({ ...(await note()), ...change })));
const isWhole = async (source) => {
    equal(source.size, SIZE);
    yes(Buffer.compare(await source.read(0, SIZE), model) === 0, "what is kept is what was sent");
};
const ranges = () => server.requests.map((r) => r.range);

/** As a page sees another origin: hardly a header can be sent or read. */
const plainFetch = globalThis.fetch, READABLE = ["content-length", "content-type", "last-modified", "cache-control"];
async function fromAfar(act) {
    globalThis.fetch = async (where, { headers = {}, ...rest } = {}) => {
        if (Object.keys(headers).some((name) => name !== "range")) throw new TypeError("the request that asks beforehand was refused");
        const { status, statusText, body, headers: all } = await plainFetch(where, { headers, ...rest });
        return new Response(body, { status, statusText, headers: [...all].filter(([name]) => READABLE.includes(name)) });
    };
    await act().finally(() => (globalThis.fetch = plainFetch));
}

await test("a download from another origin goes on where it broke off, and is whole", () => fromAfar(async () => {
    afresh();
    await isWhole(await urlSource(url("?break=100000")));
    yes(ranges().length > 1 && ranges().slice(1).every((range) => /^bytes=[1-9]\d*-$/.test(range)), `parts were asked for: ${ranges()}`);
}));

await test("what is no longer the file that was begun begins anew", async () => {
    for (const [change, cut] of [[{ size: SIZE + 5 }, 1000], [{ tag: '"another"' }, 1000], [{ size: 2 * SIZE }, SIZE + 5]]) {
        afresh();
        await urlSource(url());
        const data = await dataOf();
        data.data = new Uint8Array(cut); // of another file
        await setNote({ ...change, complete: false });
        await isWhole(await urlSource(url()));
        equal(ranges(), [null, `bytes=${cut}-`, null], JSON.stringify(change));
    }
});

await test("a server that says no is asked once", async () => {
    afresh();
    yes(/404/.test((await thrown(() => urlSource(`${server.url}/models/none.gguf`))).message), "404");
    equal(server.requests.length, 1);
});

await test("a file that is here and was not checked is checked, not fetched again", async () => {
    afresh();
    await urlSource(url());
    await setNote({ complete: false });
    await isWhole(await urlSource(url()));
    equal(ranges(), [null]);
    await isWhole(await urlSource(url(), { sha256: sha256.toUpperCase() }));
    equal((await note()).checked, sha256);
    equal(ranges(), [null], "it is here");
    const wrong = await thrown(() => urlSource(url(), { sha256: "0".repeat(64) }));
    yes(/SHA-256 differs/.test(wrong.message), wrong.message);
    await isWhole(await urlSource(url(), { sha256 }));
    equal(ranges(), [null, null], "loaded anew");
});

await test("what storage refuses is said at once; what is left over is listed, and can be deleted", async () => {
    afresh();
    await urlSource(url());
    const data = await dataOf();
    data.data = data.data.slice(0, 1000); // most of it is missing
    await setNote({ complete: false });
    data.full = true;
    const full = await thrown(() => urlSource(url()));
    yes(full.final && /no more room/.test(full.message), full.message);
    data.full = false;
    data.open = true;
    const used = await thrown(() => urlSource(url()));
    yes(used.final && /in use/.test(used.message), used.message);
    (await kept()).files.delete([...(await kept()).files.keys()].find((name) => name.endsWith(".json")));
    const [left] = await listKept();
    equal([left.name, left.complete], ["a.gguf", false]);
    yes(/in use/.test((await thrown(() => deleteKept(left.key))).message), "it is in use");
    data.open = false;
    await deleteKept(left.key);
    equal(await listKept(), []);
});

await test("without a place to keep it: parts, tried again, if it can be told how many", async () => {
    afresh();
    root = null;
    await isWhole(await urlSource(url("?fail=2")));
    await fromAfar(async () => yes(/exposes no Content-Range/.test((await thrown(() => urlSource(url()))).message), "it is said why not"));
});

await test("more than was promised, a web page, and what is no model are refused at once, and nothing of them is kept", async () => {
    writeFileSync(join(folder, "b.gguf"), "<!doctype html>".repeat(40_000));
    const page = await serve(folder, { models: { "b.gguf": join(folder, "b.gguf"), "a.gguf": join(folder, "a.gguf") } });
    for (const [query, why] of [["a.gguf?gzip", /^a\.gguf: more than the \d+ bytes came that were promised$/], ["a.gguf?html", /^a\.gguf: the server sends a web page instead/], ["b.gguf", /^b\.gguf is no GGUF file$/]]) {
        afresh();
        const error = await thrown(() => urlSource(`${page.url}/models/${query}`));
        yes(error.final && why.test(error.message), error.message);
        equal(await listKept(), []);
    }
    equal(page.requests.length, 3, "each was asked for once");
    root = null;
    yes(/web page/.test((await thrown(() => urlSource(`${page.url}/models/a.gguf?html`))).message), "without storage, too");
    page.close();
});

await test("addresses that are none, or where a page cannot go, get a line", async () => {
    afresh();
    for (const [address, why] of [["models", /no address/], ["https://", /no address/], ["ftp://a/b.gguf", /by https:\/\/ or http:\/\/, not by ftp:/], ["javascript:alert(1)", /not by javascript:/],
        ["data:,GGUF", /not by data:/], ["file:///etc/passwd", /not by file:/], ["https://me:secret@a.example/b.gguf", /^b\.gguf: the address has a name or a password/]])
        yes(why.test((await thrown(() => urlSource(address))).message), `${address}: ${(await thrown(() => urlSource(address))).message}`);
    equal(await listKept(), []);
    await isWhole(await urlSource(url("?a=%E0%A4%A#part")));
    equal((await listKept())[0].name, "a.gguf");
    const odd = await thrown(() => urlSource(`${server.url}/models/%E0%A4%A.gguf`));
    yes(/^%E0%A4%A\.gguf: the server says 404/.test(odd.message), odd.message);
});

server.close();
rmSync(folder, { recursive: true });
done();
