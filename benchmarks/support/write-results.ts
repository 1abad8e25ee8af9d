import { writeFile } from "node:fs/promises";
import os from "node:os";

/** Writes `results/NAME.json`: the figures with the date and the machine they were measured on. */
export async function writeResults(name: string, figures: object): Promise<void> {
  const machine = { cpu: os.cpus()[0]?.model, cores: os.cpus().length, node: process.version };
  const file = new URL(`../results/${name}.json`, import.meta.url);
  await writeFile(file, `${JSON.stringify({ date: new Date().toISOString(), machine, ...figures }, null, 2)}\n`);
}
