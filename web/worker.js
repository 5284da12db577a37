// The worker of a page: a service, by messages { id, name, args } and { id, result | error | event }.
import { Service } from "./service.js";
// what that imports in its turn, named here so that all are fetched at once
import "./engine.js";
import "./gpu.js";
import "./models.js";
import "./program.js";
import "./sha256.js";
import "./sim.js";
import "./template.js";
import "./torch.js";
import "./wasm.js";

const service = new Service();

onmessage = async ({ data: { id, name, args } }) => {
    try {
        const result = await service.call(name, args, (event) => postMessage({ id, event }));
        postMessage({ id, result });
    } catch (error) {
        const { message, cancelled, noGpu, kept, dead } = error, usage = error.usage || error instanceof TypeError;
        postMessage({ id, error: { message, cancelled, noGpu, kept, dead, usage } });
    }
};
