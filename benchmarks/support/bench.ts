import type { Progress } from "./progress.ts";
import type { Measured } from "./results.ts";

/** A number that a bench is run with. */
export interface BenchNumber {
  /** What it counts, for `--help`. */
  of: string;
  short: number;
  /** In the published run. */
  long: number;
}

/** A question that is asked of the service. */
export interface Bench<Name extends string = string> {
  /** The question, in one line. */
  asks: string;
  /** How long both runs take on two quiet cores. */
  minutes: { short: number; long: number };
  /** By the names of their options. */
  numbers: Record<Name, BenchNumber>;
  /** Environment variables that it reads, and what for. */
  environment?: Readonly<Record<string, string>>;
  /** Whether it prints tables of its own. Its `figures` are then only written. */
  printsTables?: boolean;
  /** Why it cannot be run here; undefined when it can. */
  whyNot?(): string | undefined;
  run(numbers: Readonly<Record<Name, number>>, progress: Progress): Promise<Measured>;
}

/** Returns the bench as it is, with the names of its numbers checked. */
export const defineBench = <Name extends string>(bench: Bench<Name>): Bench<Name> => bench;

/** Environment variables of the benches that an embedding model can be measured with. */
export const EMBEDDER_ENVIRONMENT = {
  "EMBEDDING_BASE_URL, EMBEDDING_MODEL, EMBEDDING_QUERY_MODEL": "a model that is measured beside the built-in embedder",
  BENCH_EMBEDDING_CACHE: "a folder that keeps the model's vectors from run to run",
};
