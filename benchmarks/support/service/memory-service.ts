import { setTimeout as sleep } from "node:timers/promises";
import { postJson, putJson } from "../../../test/support/clients/api-client.ts";
import type { TurnResult } from "../../../turn/events.ts";
import { type MeasuredProcess, MODEL_AT_ONCE, startService } from "../start-process.ts";
import { readStream, type StreamTimes } from "../read-stream.ts";
import pg from "pg";
import { withDatabase } from "../../../test/servers/database-url.ts";
import { startMilvusServer, startStandaloneMilvus, whyNoMilvus, whyNoStandaloneMilvus } from "../../../test/servers/milvus-server.ts";
import { startPostgresServer } from "../../../test/servers/postgres-server.ts";
import { startVectorPostgres, whyNoVectorPostgres } from "../../../test/servers/vector-postgres.ts";

export type MemoryStores = Awaited<ReturnType<typeof startMemoryStores>>;

async function createDatabase(server: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(`create database ${name}`).finally(() => client.end());
  return withDatabase(server, name);
}

/** The server itself where it can be had, else Milvus Lite, else none. Only one server fits on a machine. */
async function findMilvus(isLite: boolean) {
  if (!isLite && (await whyNoStandaloneMilvus()) === undefined) return { name: "Milvus", start: () => startStandaloneMilvus() };
  return (await whyNoMilvus()) === undefined ? { name: "Milvus Lite", start: startMilvusServer } : null;
}

/** Starts a real Postgres, with pgvector if available. It ends with `opened`. `hasSeveral`: two Milvus run at a time, so both are Lite. */
export async function startMemoryStores(opened: AsyncDisposableStack, { hasSeveral = false } = {}) {
  const hasVectors = (await whyNoVectorPostgres()) === undefined;
  const postgres = await (hasVectors ? startVectorPostgres() : startPostgresServer());
  opened.defer(() => postgres.stop());
  const milvus = await findMilvus(hasSeveral);
  let count = 0;
  const open = async () => ({ DATABASE_URL: await createDatabase(postgres.url, `bench_${++count}`) });
  return {
    databaseUrl: postgres.url,
    vectors: hasVectors ? "pgvector" : "a plain column",
    /** Makes a database, and returns the settings of processes that share it. */
    open,
    withMilvus: `Postgres and ${milvus?.name}`,
    /** The same with a Milvus of its own as the index; null without one. */
    async openWithMilvus(): Promise<Record<string, string> | null> {
      if (!milvus) return null;
      const server = await milvus.start();
      opened.defer(() => server.remove());
      return { ...(await open()), MILVUS_ADDRESS: server.address };
    },
  };
}

/** A turn's times for its client, and its event `done`. */
export interface AskedTurn extends StreamTimes {
  result: TurnResult;
}

export interface Asked {
  user: string;
  session: string;
  message: string;
  agent?: string;
  /** The knowledge base that the caller names. */
  kb?: string;
}

export interface MemoryService {
  name: string;
  url: string;
  process: MeasuredProcess;
  /** Milliseconds from its start until `/readyz` answers 200. */
  startMs: number;
  ask(asked: Asked): Promise<AskedTurn>;
}

/** Has a turn with the service. Throws when the answer is not whole. */
export async function askService(url: string, { user, session, message, agent, kb }: Asked): Promise<AskedTurn> {
  const body = { user_id: user, session_id: session, message, agent, kb_prefix: kb };
  const { last, ...times } = await readStream(`${url}/api/v1/chat/stream`, body);
  return { ...times, result: (JSON.parse(last) as { content: TurnResult }).content };
}

/**
 * Starts the service with the stores of `environment`, without limits, with the built-in embedder and an immediate model for jobs.
 * `folder`: the folder of another build.
 */
export async function startMemoryService(
  name: string,
  modelUrl: string,
  environment: Record<string, string>,
  folder?: string,
): Promise<MemoryService> {
  const began = performance.now();
  const service = await startService(modelUrl, { SUMMARY_MODEL: MODEL_AT_ONCE, MEMORY_MODEL: MODEL_AT_ONCE, ...environment }, folder);
  while (!(await fetch(`${service.line}/readyz`)).ok) await sleep(5);
  const startMs = performance.now() - began;
  return { name, url: service.line, process: service, startMs, ask: (asked) => askService(service.line, asked) };
}

/** Posts JSON to the API and returns its answer. Throws when refused. */
export async function postApi<Body>(url: string, path: string, body: unknown): Promise<Body> {
  const { status, text, json } = await postJson<Body>(`${url}/api/v1${path}`, body);
  if (status >= 300) throw new Error(`POST ${path} answered ${status}: ${text.slice(0, 300)}`);
  return json;
}

/** Throws when refused. */
export async function putApi(url: string, path: string, body: object): Promise<void> {
  const { status, text } = await putJson(`${url}/api/v1${path}`, body);
  if (status >= 300) throw new Error(`PUT ${path} answered ${status}: ${text.slice(0, 300)}`);
}

export type LayersAtWork = ReturnType<typeof makeLayersAtWork>;

export function makeLayersAtWork() {
  const counts = { summary: 0, "core memory": 0, episodes: 0, passages: 0 };
  let turns = 0;
  let degraded = 0;
  return {
    count({ receipt, degraded: layers }: TurnResult): void {
      turns++;
      if (receipt.summary) counts.summary++;
      if (receipt.core_memory.length > 0) counts["core memory"]++;
      if (receipt.episodes.length > 0) counts.episodes++;
      if (receipt.passages.length > 0) counts.passages++;
      if (layers.length > 0) degraded++;
    },
    tell(): string {
      const parts = Object.entries(counts).map(([layer, count]) => `${layer} in ${count}`);
      return `Of ${turns} turns, ${parts.join(", ")}; ${degraded} were degraded.`;
    },
  };
}
