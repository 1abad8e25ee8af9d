import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { isRunning } from "./is-running.ts";
import { freePort } from "./postgres-server.ts";
import { pythonEnvironment, pythonOf } from "./python-environment.ts";

const run = promisify(execFile);

/** milvus-lite needs pymilvus to serve and does not name it. */
const PACKAGES = ["milvus-lite==3.2.2", "pymilvus==3.0.2"];
const FOLDER_PREFIX = "conversation-graph-milvus-";
const START_LIMIT_MS = 60_000;

export type MilvusServer = Awaited<ReturnType<typeof startMilvusServer>>;

/** Installs Milvus Lite for the tests, once per machine. Says why it cannot, or undefined when it is there. */
export async function whyNoMilvus(): Promise<string | undefined> {
  if (process.platform === "win32") return "Milvus Lite does not run on Windows";
  return (await pythonEnvironment(PACKAGES)).missing;
}

async function killServerOf(folder: string): Promise<void> {
  const pid = Number.parseInt(await readFile(path.join(folder, "server.pid"), "utf8").catch(() => ""), 10);
  if (!pid || !isRunning(pid)) return;
  const { stdout } = await run("ps", ["-o", "args=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  if (stdout.includes(folder)) process.kill(pid, "SIGKILL");
}

/** Ends servers of killed test runs, and removes their folders, whose names have the id of the process that made them. */
async function removeOrphans(): Promise<void> {
  for (const name of await readdir(os.tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX) || isRunning(Number.parseInt(name.slice(FOLDER_PREFIX.length), 10))) continue;
    const folder = path.join(os.tmpdir(), name);
    await killServerOf(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

async function listening(server: ChildProcess): Promise<void> {
  let output = "";
  await new Promise<void>((resolve, reject) => {
    const fail = (): void => reject(new Error(`Milvus Lite did not start:\n${output.slice(-2_000)}`));
    const timer = setTimeout(fail, START_LIMIT_MS);
    const read = (chunk: Buffer): void => {
      if (output.length < 100_000) output += chunk.toString();
      if (!output.includes("listening on")) return;
      clearTimeout(timer);
      resolve();
    };
    server.stdout?.on("data", read);
    server.stderr?.on("data", read);
    server.once("exit", fail).once("error", fail);
    server.once("exit", () => clearTimeout(timer));
  });
}

/** A real Milvus Lite in a folder of its own. Only when `whyNoMilvus` gave no reason. */
export async function startMilvusServer() {
  await removeOrphans();
  const folder = await mkdtemp(path.join(os.tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  const port = await freePort();
  let server: ChildProcess | undefined;
  const killNow = (): void => void server?.kill("SIGKILL");
  const milvus = {
    address: `127.0.0.1:${port}`,
    async start(): Promise<void> {
      const command = `-m milvus_lite server --host 127.0.0.1 --port ${port} --data-dir`;
      const words = [...command.split(" "), path.join(folder, "data")];
      server = spawn(pythonOf(PACKAGES), words, { env: { ...process.env, PYTHONUNBUFFERED: "1" } });
      await writeFile(path.join(folder, "server.pid"), String(server.pid));
      await listening(server);
    },
    async kill(): Promise<void> {
      killNow();
      if (server?.exitCode === null && server.signalCode === null) await once(server, "exit");
    },
    async remove(): Promise<void> {
      process.off("exit", killNow);
      await milvus.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  process.on("exit", killNow);
  await milvus.start();
  return milvus;
}
