// The package's types, as a program uses them: it must compile, and what is marked must not.
import { Solo, type ChatCompletion, type ChatCompletionChunk, type Progress, type Simulation } from "solo-gpu";
import { Solo as InPlace } from "solo-gpu/in-place";
import { Simulator } from "solo-gpu/sim";

const solo: Solo = await Solo.load({ base: "/solo-gpu/", level: "auto", onProgress: ({ what, done, total }: Progress) => console.log(what, done / total) });
const messages = [{ role: "user" as const, content: "Hello" }];

const whole: ChatCompletion = await solo.chat.completions.create({ messages });
const pieces: AsyncIterable<ChatCompletionChunk> = await solo.chat.completions.create({ messages, stream: true, stream_options: { include_usage: true } });
for await (const { choices, usage } of pieces) console.log(choices[0]?.delta.content ?? "", usage?.total_tokens);

async function either(stream: boolean): Promise<string> {
    const answer = await solo.chat.completions.create({ messages, stream });
    if ("choices" in answer) return answer.choices[0].message.content;
    let text = "";
    for await (const chunk of answer) text += chunk.choices[0]?.delta.content ?? "";
    return text;
}
console.log(whole.usage.total_tokens, await either(Math.random() < 0.5), (await solo.completions.create({ prompt: "x" })).choices[0].text);

const ran: Simulation = await solo.simulate("cartpole", { population: 8, evolve: { generations: 2 } });
console.log(ran.scores[0], ran.states["x"]?.[0], ran.trace?.[0]?.t, ran.best?.[0]);
const again = await solo.prepareSimulation("cartpole", { population: 8 });
console.log((await again.run({ fuse: "none", genomes: ran.scores })).dispatches);
// @ts-expect-error all runs have the same steps
await again.run({ steps: 5 });
const simulator = await Simulator.create();
await simulator.open({ adapter: "gpu" });
console.log((await simulator.simulate("cartpole")).dispatches, InPlace === Solo);

// @ts-expect-error there is no such level
await solo.setLevel("all");
// @ts-expect-error a chat has messages
await solo.chat.completions.create({ prompt: "x" });
// @ts-expect-error options of a stream without one
await solo.chat.completions.create({ messages, stream: false, stream_options: { include_usage: 1 } });
