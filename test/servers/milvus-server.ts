import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { removeOrphans } from "./orphans.ts";
import { freePort } from "./free-port.ts";
import { pythonEnvironment, pythonOf } from "./python-environment.ts";
import { testFolder } from "./test-folder.ts";

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
  await removeOrphans(FOLDER_PREFIX, { pidFile: "server.pid", signal: "SIGKILL" });
  const folder = await mkdtemp(path.join(testFolder(), `${FOLDER_PREFIX}${process.pid}-`));
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
