// How vite builds this example; the one line is what solo-gpu needs of it.
import { defineConfig } from "vite";

export default defineConfig({
    optimizeDeps: { exclude: ["solo-gpu"] }, // its worker and wasm files stay where they are while developing
});
