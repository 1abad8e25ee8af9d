import type { Progress } from "./progress.ts";
import type { Measured } from "./results.ts";

export interface BenchNumber {
  of: string;
  short: number;
  long: number;
}

export interface Bench<Name extends string = string> {
  asks: string;
  minutes: { short: number; long: number };
  numbers: Record<Name, BenchNumber>;
  environment?: Readonly<Record<string, string>>;
  /** The word that must follow its name, such as a commit. When all benches run, this one is left out. */
  argument?: { name: string; of: string };
  /** Why it cannot run here. */
  whyNot?(): string | undefined;
  run(numbers: Readonly<Record<Name, number>>, progress: Progress, argument: string): Promise<Measured>;
}

export const defineBench = <Name extends string>(bench: Bench<Name>): Bench<Name> => bench;

export const EMBEDDER_ENVIRONMENT = {
  "EMBEDDING_BASE_URL, EMBEDDING_MODEL, EMBEDDING_QUERY_MODEL": "a model that is measured beside the built-in embedder",
  BENCH_EMBEDDING_CACHE: "a folder that keeps the model's vectors from run to run",
};
