// bench/web.mjs in Node or Deno: both records as one JSON array on standard output.
import { Solo } from "../build/web/solo.js";

const inDeno = globalThis.Deno !== undefined, { dispatch, ...llm } = JSON.parse(inDeno ? Deno.args[0] : process.argv[2]);
let gpu;
if (!inDeno) {
    const dawn = await import("webgpu");
    Object.assign(globalThis, dawn.globals);
    gpu = dawn.create([]);
}
const solo = await Solo.load({ gpu, context: 64 });
const record = await solo.benchDispatch(dispatch);
const records = JSON.stringify([record, await solo.benchLlm(llm)]);
if (inDeno) Deno.stdout.writeSync(new TextEncoder().encode(records));
else await new Promise((done) => process.stdout.write(records, done));
(inDeno ? Deno.exit : process.exit)(0);
