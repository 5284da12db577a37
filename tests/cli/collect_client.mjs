// Clients of a collector, for its tests and measurements. Records are variants of one: the same samples at another time.
//
//   node tests/cli/collect_client.mjs load URL RECORD CLIENTS SECONDS ACKNOWLEDGED   sends until then or until the server is
//                                        gone; the ids that were acknowledged go into the file, one per line, and what
//                                        was measured to standard output: {"acknowledged", "seconds", "refused", "each_second"}
//   node tests/cli/collect_client.mjs missing URL ACKNOWLEDGED    how many of those ids the server does not have
import { appendFileSync, readFileSync } from "node:fs";
import http from "node:http";
import { randomInt } from "node:crypto";

const [command, url, ...rest] = process.argv.slice(2);

// One request on a connection that is kept: { status, text }, or null if there is no server.
const agent = new http.Agent({ keepAlive: true, maxSockets: 256 });
function ask(method, path, body) {
    return new Promise((resolve) => {
        const request = http.request(new URL(path, url), { method, agent, headers: body ? { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) } : {} }, (reply) => {
            let text = "";
            reply.setEncoding("utf8");
            reply.on("data", (part) => (text += part));
            reply.on("end", () => resolve({ status: reply.statusCode, text }));
            reply.on("error", () => resolve(null));
            reply.on("aborted", () => resolve(null));
        });
        request.on("error", () => resolve(null));
        request.end(body);
    });
}

// The record with its time replaced, by one of this century, without parsing it each time: a client must not be what limits.
function variants(file) {
    const text = JSON.stringify(JSON.parse(readFileSync(file, "utf8"))), [before, after] = text.split(/(?<="when":")[^"]*/);
    let next = randomInt(Date.UTC(2000) / 1000, Date.UTC(2099) / 1000);
    return () => before + new Date(next++ * 1000).toISOString().slice(0, 19) + "Z" + after;
}

async function load(file, clients, seconds, acknowledgedFile) {
    const record = variants(file), end = performance.now() + seconds * 1000, begin = performance.now();
    const each_second = Array(Math.floor(seconds)).fill(0);
    let acknowledged = 0, refused = 0, gone = false;
    const client = async () => {
        while (!gone && performance.now() < end) {
            const reply = await ask("POST", "/api/records", record());
            if (!reply) gone = true;
            else if (reply.status === 201) {
                acknowledged++;
                const second = Math.floor((performance.now() - begin) / 1000);
                if (second < each_second.length) each_second[second]++;
                appendFileSync(acknowledgedFile, JSON.parse(reply.text).id + "\n");
            } else refused++;
        }
    };
    await Promise.all(Array.from({ length: clients }, client));
    console.log(JSON.stringify({ acknowledged, seconds: (performance.now() - begin) / 1000, refused, each_second }));
}

async function missing(file) {
    const ids = readFileSync(file, "utf8").split("\n").filter(Boolean), here = new Set();
    for (let before = ""; ; ) {
        const { records, next } = JSON.parse((await ask("GET", `/api/records?limit=500${before}`)).text);
        for (const { id } of records) here.add(id);
        if (!next) break;
        before = `&before=${next}`;
    }
    console.log(ids.filter((id) => !here.has(id)).length);
}

if (command === "load") await load(rest[0], Number(rest[1]), Number(rest[2]), rest[3]);
else await missing(rest[0]);
agent.destroy();
