import { rm, stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { postJson } from "../../../test/support/clients/api-client.ts";
import { within } from "../../../test/support/wait-until.ts";
import type { ListedMessage, PeerContender } from "./contender.ts";
import { readStream } from "../read-stream.ts";
import { startProcess } from "../start-process.ts";

export interface Ground {
  modelUrl: string;
  createDatabase(name: string): Promise<string>;
  databaseCpuMs: () => number;
  folder: string;
}

export interface InstalledPeer {
  name: string;
  file: string;
  memory: "last messages" | "semantic";
  /** Milliseconds for its writes after an answer, whose end it does not report. */
  writesForMs: number;
}

/** VoltAgent gathers writes for up to 200 ms; the others end an answer when all is written. */
const VOLTAGENT_WRITES_MS = 250;

export const INSTALLED_PEERS: InstalledPeer[] = [
  { name: "LangGraph, PostgresSaver, summarising", file: "langgraph.js", memory: "last messages", writesForMs: 0 },
  { name: "Mastra, last messages", file: "mastra.js", memory: "last messages", writesForMs: 0 },
  { name: "Mastra, semantic recall", file: "mastra.js", memory: "semantic", writesForMs: 0 },
  { name: "VoltAgent, last messages", file: "voltagent.js", memory: "last messages", writesForMs: VOLTAGENT_WRITES_MS },
  { name: "VoltAgent, semantic search", file: "voltagent.js", memory: "semantic", writesForMs: VOLTAGENT_WRITES_MS },
];

/** https://mastra.ai/docs/studio/deployment, VoltAgent's local-tunnel page, https://docs.langchain.com/langsmith */
const NO_TELEMETRY = { MASTRA_TELEMETRY_DISABLED: "true", VOLTAGENT_TELEMETRY_DISABLED: "true", LANGSMITH_TRACING: "false" };

async function post<Answer>(url: string, body: object): Promise<Answer> {
  const { status, text, json } = await postJson<Answer>(url, body);
  if (status >= 300) throw new Error(`${url} answered ${status}: ${text}`);
  return json;
}

export async function startPeer({ name, file, memory, writesForMs }: InstalledPeer, ground: Ground): Promise<PeerContender> {
  const id = name.replaceAll(/\W+/g, "_").toLowerCase();
  const databaseUrl = await ground.createDatabase(id);
  const vectorFile = path.join(ground.folder, `${id}.db`);
  const environment = {
    NODE_ENV: "production",
    DATABASE_URL: databaseUrl,
    MODEL_URL: ground.modelUrl,
    VECTOR_FILE: vectorFile,
    MEMORY: memory,
    ...NO_TELEMETRY,
  };
  const peer = await startProcess([`benchmarks/peers/${file}`], /"url":"([^"]+)"/, environment);
  return {
    name,
    isOurs: false,
    turn({ userId, sessionId }, message) {
      const read = readStream(`${peer.line}/chat`, { user_id: userId, session_id: sessionId, message });
      return within(`a turn of ${name}`, read, () => `conversation ${sessionId}`);
    },
    cpuMs: () => peer.cpuMs(),
    storesCpuMs: ground.databaseCpuMs,
    async close() {
      await peer.stop();
      await rm(vectorFile, { force: true });
    },
    memory: {
      settle: () => sleep(writesForMs),
      messages: ({ userId, sessionId }) => post<ListedMessage[]>(`${peer.line}/messages`, { user_id: userId, session_id: sessionId }),
    },
  };
}

const FOLDER = fileURLToPath(new URL("../../peers/", import.meta.url));

async function writtenAt(file: string): Promise<number> {
  return stat(`${FOLDER}${file}`).then(
    ({ mtimeMs }) => mtimeMs,
    () => 0,
  );
}

/** Installs missing peers by their lock file, without install scripts. */
export async function installPeers(): Promise<void> {
  if ((await writtenAt("node_modules/.package-lock.json")) > (await writtenAt("package-lock.json"))) return;
  await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: FOLDER, maxBuffer: 16 * 1024 * 1024 });
}
