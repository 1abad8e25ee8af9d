import { execFile } from "node:child_process";
import { readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { testFolder } from "./test-folder.ts";

const run = promisify(execFile);

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A server of a test run: the file in its folder that names its process, and how it ends. */
interface Server {
  pidFile: string;
  signal: NodeJS.Signals;
}

async function endServerOf(folder: string, { pidFile, signal }: Server): Promise<void> {
  const pid = Number.parseInt(await readFile(path.join(folder, pidFile), "utf8").catch(() => ""), 10);
  if (!pid || !isRunning(pid)) return;
  const { stdout } = await run("ps", ["-o", "args=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  if (stdout.includes(folder)) process.kill(pid, signal);
}

/** Removes folders of killed test runs, which are named `prefix`, then the id of the process that made them. Ends the server in each first. */
export async function removeOrphans(prefix: string, server?: Server): Promise<void> {
  for (const name of await readdir(testFolder())) {
    if (!name.startsWith(prefix) || isRunning(Number.parseInt(name.slice(prefix.length), 10))) continue;
    const folder = path.join(testFolder(), name);
    if (server) await endServerOf(folder, server);
    await rm(folder, { recursive: true, force: true });
  }
}
