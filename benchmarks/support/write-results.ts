import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import os from "node:os";
import { promisify } from "node:util";
import type { Measured } from "./results.ts";

const git = promisify(execFile);

/** The short name of the commit, with "+" when files of the project differ from it; undefined outside a repository. */
async function currentCommit(): Promise<string | undefined> {
  const cwd = new URL("../..", import.meta.url);
  try {
    const [{ stdout: commit }, { stdout: changed }] = await Promise.all([
      git("git", ["rev-parse", "--short=10", "HEAD"], { cwd }),
      git("git", ["status", "--porcelain", "--", ".", ":!benchmarks/results", ":!benchmarks/report"], { cwd }),
    ]);
    return commit.trim() + (changed === "" ? "" : "+");
  } catch {
    return undefined;
  }
}

/** Writes `results/NAME.json`: what was measured with the date, the machine and the commit. See `Results`. */
export async function writeResults(name: string, measured: Measured & Record<string, unknown>): Promise<void> {
  const machine = { cpu: os.cpus()[0]?.model, cores: os.cpus().length, node: process.version };
  const file = new URL(`../results/${name}.json`, import.meta.url);
  const commit = await currentCommit();
  await writeFile(file, `${JSON.stringify({ date: new Date().toISOString(), machine, commit, ...measured }, null, 2)}\n`);
}
