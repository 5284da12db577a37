// A server for the tests: build/web with the headers of an isolated page, and files that break off on the way.
import { createServer } from "node:http";
import { createReadStream, statSync } from "node:fs";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { extname, join, normalize } from "node:path";

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".json": "application/json", ".svg": "image/svg+xml" };

/**
 * @param models { name: path } served below /models/; `?break=N` sends N bytes at a time and then cuts the connection,
 * `?slow=MS` waits between pieces, `?tag=sha256` gives the file's SHA-256 as its tag, `?tag=wrong` another one,
 * `?fail=N` says 503 to every Nth request, `?gzip` packs it, so that more comes than was promised,
 * `?html` says it is a page
 * @param open pages of other origins may fetch, and read no more than they may anyway; asking beforehand is refused
 * @returns { url, requests, close, other: { path: text sent in the place of a file }, down: true for no answers at all }
 */
export async function serve(root, { models = {}, isolated = true, open = false } = {}) {
    const requests = [], made = { requests, other: {}, down: false };
    const server = createServer((request, response) => {
        const url = new URL(request.url, "http://localhost");
        if (made.down) return request.socket.destroy();
        requests.push({ path: url.pathname, range: request.headers.range ?? null });
        if (isolated) {
            response.setHeader("cross-origin-opener-policy", "same-origin");
            response.setHeader("cross-origin-embedder-policy", "require-corp");
        }
        if (open) response.setHeader("access-control-allow-origin", "*");
        const every = Number(url.searchParams.get("fail") ?? 0);
        if (request.method === "OPTIONS" || (every && requests.length % every === 1)) {
            response.writeHead(request.method === "OPTIONS" ? 405 : 503).end();
            return;
        }
        if (url.pathname in made.other) {
            response.writeHead(200, { "content-type": TYPES[extname(url.pathname) || ".html"], "cache-control": "no-store" }).end(made.other[url.pathname]);
            return;
        }
        const model = models[url.pathname.replace("/models/", "")];
        const path = model ?? join(root, normalize(url.pathname === "/" ? "/index.html" : url.pathname));
        let size;
        try {
            size = statSync(path).size;
        } catch {
            response.writeHead(404).end();
            return;
        }
        response.setHeader("content-type", url.searchParams.has("html") ? "text/html; charset=utf-8" : TYPES[extname(path)] ?? "application/octet-stream");
        response.setHeader("accept-ranges", "bytes");
        response.setHeader("cache-control", "no-store");
        const tag = url.searchParams.get("tag");
        if (model) response.setHeader("etag", `"${tag === "sha256" ? createHash("sha256").update(readFileSync(path)).digest("hex") : tag === "wrong" ? "0".repeat(64) : size}"`);
        const from = Number(request.headers.range?.match(/bytes=(\d+)-/)?.[1] ?? 0);
        const to = Math.min(Number(request.headers.range?.match(/-(\d+)$/)?.[1] ?? size - 1), size - 1);
        if (from >= size) {
            response.writeHead(416).end();
            return;
        }
        if (request.headers.range) response.setHeader("content-range", `bytes ${from}-${to}/${size}`);
        if (url.searchParams.has("gzip")) {
            const packed = gzipSync(readFileSync(path));
            response.writeHead(200, { "content-encoding": "gzip", "content-length": packed.length }).end(packed);
            return;
        }
        response.setHeader("content-length", to - from + 1);
        response.writeHead(request.headers.range ? 206 : 200);
        const most = Number(url.searchParams.get("break") ?? Infinity), pause = Number(url.searchParams.get("slow") ?? 0);
        const stream = createReadStream(path, { start: from, end: to, highWaterMark: 1 << 16 });
        let sent = 0;
        stream.on("data", (piece) => {
            sent += piece.length;
            const cut = sent >= most && from + sent <= to;
            // behind what was sent, which a reset would overtake, and after a pause to read it
            response.write(piece, () => cut && setTimeout(() => request.socket.end(), 50));
            if (cut) {
                stream.destroy();
            } else if (pause) {
                stream.pause();
                setTimeout(() => stream.resume(), pause);
            }
        });
        stream.on("end", () => response.end());
        response.on("close", () => stream.destroy());
    });
    await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
    return Object.assign(made, { url: `http://localhost:${server.address().port}`, close: () => (server.closeAllConnections(), server.close()) });
}
