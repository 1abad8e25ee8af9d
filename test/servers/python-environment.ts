import { execFile } from "node:child_process";
import { access, mkdtemp, readlink, rename, rm, symlink } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { succeeds } from "../support/wait-until.ts";
import { isRunning } from "./orphans.ts";

const run = promisify(execFile);

function folderOf(packages: readonly string[]): string {
  return path.join(os.tmpdir(), `conversation-graph-python-${packages.join("-").replaceAll("==", "-")}`);
}

/** The interpreter, whether the environment is there or not. */
export const pythonOf = (packages: readonly string[]): string => path.join(folderOf(packages), "bin", "python");

/** Of the processes that want the same folder, one makes it; `lock` is a link that names it. The others wait until it is there. */
async function isMadeByAnother(folder: string, lock: string): Promise<boolean> {
  for (;;) {
    if (await succeeds(access(folder))) return true;
    if (await succeeds(symlink(String(process.pid), lock))) return false;
    const maker = await readlink(lock).catch(() => undefined);
    if (maker !== undefined && !isRunning(Number(maker))) await rm(lock, { force: true });
    else await sleep(200);
  }
}

/** Made aside and then renamed, so that it is whole or not there. */
async function createEnvironment(folder: string, packages: readonly string[]): Promise<void> {
  const lock = `${folder}.lock`;
  if (await isMadeByAnother(folder, lock)) return;
  const building = await mkdtemp(`${folder}-building-`);
  try {
    await run("python3", ["-m", "venv", building]);
    await run(path.join(building, "bin", "python"), ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", ...packages]);
    await rename(building, folder).catch((error: unknown) => access(folder).catch(() => Promise.reject(error)));
  } finally {
    await rm(building, { recursive: true, force: true });
    await rm(lock, { force: true });
  }
}

/** A virtual environment with these packages (`name==version`), made once per machine; `missing` says why it is not there. */
export async function pythonEnvironment(packages: readonly string[]): Promise<{ python: string; missing: string | undefined }> {
  const python = pythonOf(packages);
  if (await succeeds(access(python))) return { python, missing: undefined };
  if (!(await succeeds(run("python3", ["-c", "import venv, ensurepip"])))) return { python, missing: "no python3 with venv" };
  const made = await succeeds(createEnvironment(folderOf(packages), packages));
  return { python, missing: made ? undefined : `pip cannot install ${packages.join(" and ")}` };
}
