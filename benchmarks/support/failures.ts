import { rm, writeFile } from "node:fs/promises";

/** What is kept of a run that threw, as `results/NAME.failure.json`, until the bench runs to its end. */
export interface Failure {
  /** ISO 8601. */
  date: string;
  error: string;
}

const LONGEST = 4_000;

const fileOf = (name: string): URL => new URL(`../results/${name}.failure.json`, import.meta.url);

export async function keepFailure(name: string, error: unknown): Promise<void> {
  const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const failure: Failure = { date: new Date().toISOString(), error: text.slice(0, LONGEST) };
  await writeFile(fileOf(name), `${JSON.stringify(failure, null, 2)}\n`);
}

export const forgetFailure = (name: string): Promise<void> => rm(fileOf(name), { force: true });
