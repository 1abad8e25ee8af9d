import path from "node:path";
import { callApi } from "../../../test/support/clients/api-client.ts";
import { thisService, type Contender } from "../turn/contenders.ts";
import type { Ground } from "./installed-peers.ts";
import type { ListedMessage, PeerContender, Thread } from "./contender.ts";
import { readStream, type ReadStream } from "../read-stream.ts";

const EMBEDDER = { EMBEDDING_MODEL: "bench-embedding", EMBEDDING_DIMENSIONS: "512" };

const SETTLE_MS = 30_000;

async function call<Answer>(url: string, method = "GET"): Promise<Answer> {
  const { status, text, json } = await callApi<Answer>(url, { method });
  if (status >= 300) throw new Error(`${method} ${url} answered ${status}: ${text}`);
  return json;
}

interface OwnParts {
  name: string;
  start: () => Promise<Contender>;
  storesCpuMs: () => number;
}

async function ownContender({ name, start, storesCpuMs }: OwnParts): Promise<PeerContender> {
  const running = await start();
  const conversations = new Map<string, string>();
  const url = (rest: string): string => `${running.service?.line ?? ""}/api/v1/${rest}`;
  const conversationOf = ({ sessionId }: Thread): string => conversations.get(sessionId) ?? "";
  const ask =
    (added: object) =>
    async ({ userId, sessionId }: Thread, message: string): Promise<ReadStream> => {
      const read = await readStream(url("chat/stream"), { user_id: userId, session_id: sessionId, message, ...added });
      if (!conversations.has(sessionId)) {
        const { content } = JSON.parse(read.last) as { content: { conversation_id: string } };
        conversations.set(sessionId, content.conversation_id);
      }
      return read;
    };
  return {
    name,
    isOurs: true,
    turn: ask({}),
    turnInLine: ask({ on_busy: "enqueue" }),
    cpuMs: () => running.cpuMs(),
    storesCpuMs,
    close: () => running.close(),
    memory: {
      async settle(thread) {
        const path = `conversations/${conversationOf(thread)}/settle?timeout_ms=${SETTLE_MS}`;
        const { settled } = await call<{ settled: boolean }>(url(path), "POST");
        if (!settled) throw new Error(`the jobs of ${thread.sessionId} were not done within ${SETTLE_MS} ms`);
      },
      async messages(thread) {
        const page = await call<{ messages: ListedMessage[] }>(url(`conversations/${conversationOf(thread)}/messages?limit=200`));
        return page.messages;
      },
    },
  };
}

export function startOnPglite({ modelUrl, folder }: Ground): Promise<PeerContender> {
  const name = "this service, embedded PGlite, all layers";
  const dataDir = path.join(folder, "pglite");
  return ownContender({
    name,
    start: () => thisService(name, modelUrl, { DATA_DIR: dataDir, ...EMBEDDER }),
    storesCpuMs: () => 0,
  });
}

/** Recall needs pgvector here: without it, this is for peers that keep the last messages. */
export async function startOnPostgres(ground: Ground, withRecall: boolean): Promise<PeerContender> {
  const name = `this service, Postgres, ${withRecall ? "all layers" : "no episodes"}`;
  const databaseUrl = await ground.createDatabase(withRecall ? "own_with_recall" : "own");
  const settings = { DATABASE_URL: databaseUrl, ENABLE_EPISODIC_MEMORY: String(withRecall), ...EMBEDDER };
  return ownContender({
    name,
    start: () => thisService(name, ground.modelUrl, settings),
    storesCpuMs: ground.databaseCpuMs,
  });
}
