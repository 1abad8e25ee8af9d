import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { waitUntil } from "../support/wait-until.ts";
import { removeOrphans } from "./orphans.ts";
import { freePort } from "./free-port.ts";
import { pythonEnvironment, pythonOf } from "./python-environment.ts";
import { testFolder } from "./test-folder.ts";

const FOLDER_PREFIX = "conversation-graph-milvus-";
const START_LIMIT_MS = 120_000;

export type MilvusServer = Awaited<ReturnType<typeof startServer>>;

interface Command {
  words: string[];
  serves: (output: string) => Promise<boolean>;
}

interface Kind {
  packages: readonly string[];
  /** What the interpreter runs, and how it shows that it serves. */
  command: (port: number, data: string, settings: readonly string[]) => Promise<Command>;
}

const LITE: Kind = {
  // milvus-lite needs pymilvus to serve and does not name it.
  packages: ["milvus-lite==3.2.2", "pymilvus==3.0.2"],
  command: async (port, data) => {
    const words = `-m milvus_lite server --host 127.0.0.1 --port ${port} --data-dir`.split(" ");
    return { words: [...words, data], serves: async (output) => output.includes("listening on") };
  },
};

const PROGRAM = fileURLToPath(new URL("milvus_standalone.py", import.meta.url));
/** Besides that of its clients. */
const OWN_PORTS = 9;

/** The server itself, with etcd, a queue and its store within. */
const STANDALONE: Kind = {
  packages: ["milvus==2.3.5"],
  command: async (port, data, settings) => {
    const health = await freePort();
    const ports = [port];
    while (ports.length <= OWN_PORTS) ports.push(await freePort());
    const isHealthy = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${health}/healthz`)).ok;
    const words = [PROGRAM, data, String(health), ports.join(), "log.level=error", ...settings];
    return { words, serves: () => isHealthy().catch(() => false) };
  },
};

/** Installs Milvus Lite for the tests, once per machine. Says why it cannot, or undefined when it is there. */
export async function whyNoMilvus(): Promise<string | undefined> {
  if (process.platform === "win32") return "Milvus Lite does not run on Windows";
  return (await pythonEnvironment(LITE.packages)).missing;
}

/** The same for the standalone server. */
export async function whyNoStandaloneMilvus(): Promise<string | undefined> {
  if (process.platform !== "linux" || process.arch !== "x64") return "PyPI has the Milvus server for Linux on x64 alone";
  return (await pythonEnvironment(STANDALONE.packages)).missing;
}

async function startServer({ packages, command }: Kind, given: readonly string[]) {
  await removeOrphans(FOLDER_PREFIX, { pidFile: "server.pid", signal: "SIGKILL" });
  const folder = await mkdtemp(path.join(testFolder(), `${FOLDER_PREFIX}${process.pid}-`));
  const port = await freePort();
  let server: ChildProcess | undefined;
  const killNow = (): void => void server?.kill("SIGKILL");
  const hasEnded = (): boolean => server?.exitCode !== null || server.signalCode !== null;
  const milvus = {
    address: `127.0.0.1:${port}`,
    /** With settings of the standalone server, such as `common.security.authorizationEnabled=true`. */
    async start(settings = given): Promise<void> {
      const { words, serves } = await command(port, path.join(folder, "data"), settings);
      let output = "";
      const read = (chunk: Buffer): void => void (output.length < 100_000 && (output += chunk.toString()));
      server = spawn(pythonOf(packages), words, { env: { ...process.env, PYTHONUNBUFFERED: "1" } });
      server.stdout?.on("data", read);
      server.stderr?.on("data", read);
      await writeFile(path.join(folder, "server.pid"), String(server.pid));
      await waitUntil("Milvus serves", async () => hasEnded() || serves(output), START_LIMIT_MS);
      if (hasEnded()) throw new Error(`Milvus did not start:\n${output.slice(-2_000)}`);
    },
    async kill(): Promise<void> {
      killNow();
      if (server && !hasEnded()) await once(server, "exit");
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

/** A real Milvus Lite in a folder of its own. Only when `whyNoMilvus` gave no reason. */
export const startMilvusServer = (): Promise<MilvusServer> => startServer(LITE, []);

/** A real Milvus server in a folder of its own; it takes 20 seconds. Only when `whyNoStandaloneMilvus` gave no reason. */
export const startStandaloneMilvus = (...settings: string[]): Promise<MilvusServer> => startServer(STANDALONE, settings);
