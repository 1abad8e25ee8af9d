import { execFile, spawn, type ChildProcess } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { isRunning } from "./is-running.ts";
import { freePort } from "./postgres-server.ts";
import { pythonEnvironment, pythonOf } from "./python-environment.ts";

const run = promisify(execFile);

/** pymilvus has the protocol's messages; milvus-lite needs it to serve and does not name it. */
const PACKAGES = ["milvus-lite==3.2.2", "pymilvus==3.0.2"];
const FOLDER_PREFIX = "conversation-graph-milvus-";
const START_LIMIT_MS = 60_000;

export interface MilvusServer {
  /** host:port, the same after a restart. */
  address: string;
  /** On the data that is there. */
  start(): Promise<void>;
  kill(): Promise<void>;
  /** Kills the server and removes its data. */
  remove(): Promise<void>;
}

/** Installs Milvus Lite for the tests, once per machine. Says why it cannot, or undefined when it is there. */
export async function whyNoMilvus(): Promise<string | undefined> {
  if (process.platform === "win32") return "Milvus Lite does not run on Windows";
  return (await pythonEnvironment(PACKAGES)).missing;
}

/** Ends a server that serves this folder: its number may belong to another process by now. */
async function killServerOf(folder: string): Promise<void> {
  const pid = Number.parseInt(await readFile(path.join(folder, "server.pid"), "utf8").catch(() => ""), 10);
  if (!pid || !isRunning(pid)) return;
  const { stdout } = await run("ps", ["-o", "args=", "-p", String(pid)]).catch(() => ({ stdout: "" }));
  if (stdout.includes(folder)) process.kill(pid, "SIGKILL");
}

/** Servers that a killed test run left behind, and their folders. A folder names the process that made it. */
async function removeOrphans(): Promise<void> {
  for (const name of await readdir(os.tmpdir())) {
    if (!name.startsWith(FOLDER_PREFIX) || isRunning(Number.parseInt(name.slice(FOLDER_PREFIX.length), 10))) continue;
    const folder = path.join(os.tmpdir(), name);
    await killServerOf(folder);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Resolves when the server says that it listens; rejects with what it wrote when it ends before. */
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

async function ended(server: ChildProcess): Promise<void> {
  if (server.exitCode === null && server.signalCode === null) await new Promise((resolve) => server.once("exit", resolve));
}

/** A real Milvus Lite in a folder of its own. Only when `whyNoMilvus` gave no reason. */
export async function startMilvusServer(): Promise<MilvusServer> {
  await removeOrphans();
  const folder = await mkdtemp(path.join(os.tmpdir(), `${FOLDER_PREFIX}${process.pid}-`));
  const port = await freePort();
  let server: ChildProcess | undefined;
  const killNow = (): void => void server?.kill("SIGKILL");
  const milvus: MilvusServer = {
    address: `127.0.0.1:${port}`,
    async start() {
      const arguments_ = [
        "-m",
        "milvus_lite",
        "server",
        "--data-dir",
        path.join(folder, "data"),
        "--host",
        "127.0.0.1",
        "--port",
        String(port),
      ];
      server = spawn(pythonOf(PACKAGES), arguments_, { env: { ...process.env, PYTHONUNBUFFERED: "1" } });
      await writeFile(path.join(folder, "server.pid"), String(server.pid));
      await listening(server);
    },
    async kill() {
      killNow();
      if (server) await ended(server);
    },
    async remove() {
      process.off("exit", killNow);
      await milvus.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  process.on("exit", killNow);
  await milvus.start();
  return milvus;
}
