import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function endServerOf(folder: string, pidFile: string, signal: NodeJS.Signals): Promise<void> {
  const pid = Number.parseInt(await readFile(path.join(folder, pidFile), "utf8").catch(() => ""), 10);
  if (!pid || !isRunning(pid)) return;
  const { stdout } = await run("ps", ["-o", "args=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  if (stdout.includes(folder)) process.kill(pid, signal);
}

/** Ends servers of killed test runs, and removes their folders: `prefix`, then the id of the process that made them. */
export async function removeOrphans(prefix: string, pidFile: string, signal: NodeJS.Signals): Promise<void> {
  for (const name of await readdir(os.tmpdir())) {
    if (!name.startsWith(prefix) || isRunning(Number.parseInt(name.slice(prefix.length), 10))) continue;
    const folder = path.join(os.tmpdir(), name);
    await endServerOf(folder, pidFile, signal);
    await rm(folder, { recursive: true, force: true });
  }
}
