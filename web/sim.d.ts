// The types of sim.js.
import type { Adapter, Measurement, PrepareOptions, PreparedSimulation, Progress, Simulation, SimulationOptions } from "./solo.js";

export interface SimulatorOptions {
    /** What navigator.gpu is, where it is not (Node). */
    gpu?: unknown;
    environment?: Record<string, string>;
    /** What was found out about the device, kept by the caller. */
    memory?: { get(key: string): string | undefined; set(key: string, value: string): void };
    /** false: Asyncify even where JSPI is. */
    jspi?: boolean;
    log?: (text: string) => void;
}

/** Simulations without anything of models; in a worker, Node or Deno. */
export class Simulator {
    static create(options?: SimulatorOptions): Promise<Simulator>;
    /** @returns the device */
    open(options?: { adapter?: Adapter }): Promise<{ [key: string]: unknown }>;
    simulate(source: string, options?: SimulationOptions): Promise<Simulation>;
    /** To be run again and again: it is compiled once, at the first run. */
    prepare(source: string, options?: PrepareOptions): PreparedSimulation;
    /** A small decoder as 1,024 dispatches, by every launch strategy, and as one: a measurement. */
    benchDecoder(options?: { repetitions?: number; seed?: number; onProgress?: (progress: Progress) => void }): Promise<Measurement>;
    close(): Promise<void>;
    /** It broke down and cannot be used any more. */
    readonly dead: boolean;
}

export type { Progress, Simulation, SimulationOptions };
