// The types of torch.js.
import type { Adapter, Level, Numbers, ProgramOutput, Progress, TorchProgram } from "./solo.js";
import type { SimulatorOptions } from "./sim.js";

/** What is known of a program, and the number by which it is run. */
export type LoadedProgram = Omit<TorchProgram, "run" | "reset" | "close"> & { readonly number: number };

/** Programs of PyTorch without anything of models; in a worker, Node or Deno. */
export class Torch {
    static create(options?: SimulatorOptions): Promise<Torch>;
    /** @returns the device */
    open(options?: { adapter?: Adapter }): Promise<{ [key: string]: unknown }>;
    load(
        source: { name: string; size: number; read(offset: number, length: number): Promise<Uint8Array> },
        options?: { level?: Level | "auto"; onProgress?: (progress: Progress) => void },
    ): Promise<LoadedProgram>;
    run(number: number, inputs?: Record<string, Numbers>, options?: { seed?: number }): Promise<Record<string, ProgramOutput>>;
    /** States begin anew, as the file has them. */
    reset(number: number): Promise<void>;
    forget(number: number): Promise<void>;
    close(): Promise<void>;
    /** It broke down and cannot be used any more. */
    readonly dead: boolean;
}
