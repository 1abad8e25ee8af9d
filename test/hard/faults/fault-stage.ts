import { randomBytes } from "node:crypto";
import { expect } from "@jest/globals";
import type { TurnResult } from "../../../turn/events.ts";
import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { postJson, type ErrorBody } from "../../support/clients/api-client.ts";
import { createRealDatabase } from "../../support/databases/databases.ts";
import { startEmbeddingServer } from "../../servers/embedding-server.ts";
import type { Dependency } from "./fault-matrix.ts";
import { startMilvusServer } from "../../servers/milvus-server.ts";
import { startModelServer, type ChatRequestBody, type ModelScript } from "../../servers/model-server.ts";
import { callOnce, writing } from "../../support/services/service-with-core-memory.ts";
import { conversationApi, importedTurns } from "../../support/services/service-with-episodes.ts";
import { killServiceProcesses, startServiceProcess, type ServiceProcess } from "../../servers/service-process.ts";
import { startTcpProxy } from "../../servers/tcp-proxy.ts";

export const USER = "ada";
const CHAT = "test-chat";
const SUMMARY = "test-summary";
const MEMORY = "test-memory";
const WORD = /\bqu[bcdfgklmnprt]{8}o\b/g;
export const newWord = (): string => `qu${[...randomBytes(8)].map((byte) => "bcdfgklmnprt"[byte % 12]).join("")}o`;

export interface SeenTurn {
  /** `done` or the code of the error. */
  outcome: string;
  ms: number;
  text: string;
  result: TurnResult | undefined;
}

export type FaultStage = Awaited<ReturnType<typeof openFaultStage>>;

export const FACTS = importedTurns([
  ["My favourite director is Agnès Varda.", "A fine choice."],
  ["I am allergic to peanuts.", "Noted."],
]);

/** Answers with the question, summarises with a word, and remembers every word that is new in what was said. */
function script({ model, messages }: ChatRequestBody): ModelScript {
  const asked = messages.at(-1)?.content ?? "";
  if (model === SUMMARY) return { tokens: ["They ", "spoke ", "of ", "hats."] };
  if (model !== MEMORY) return { tokens: ["re: ", ...(asked.split("\n").at(-1) ?? "").split(/(?<= )/)] };
  const read = messages.find(({ role }) => role === "user")?.content ?? "";
  const said = read.slice(read.search(/Turn \d+, said on/));
  return callOnce(writing("preferences", `Wears ${[...new Set(said.match(WORD))].join(" ")}`))({ model, messages });
}

const ONLY: Partial<Record<Dependency, string>> = { summary_model: `"model":"${SUMMARY}"`, memory_model: `"model":"${MEMORY}"` };

export async function openFaultStage(dependency: Dependency) {
  await using opening = new AsyncDisposableStack();
  const [place, milvus, model, embedder] = await Promise.all([
    createRealDatabase(),
    startMilvusServer(),
    startModelServer(),
    startEmbeddingServer(),
  ]);
  opening.defer(() => place.drop());
  opening.defer(() => milvus.remove());
  opening.defer(() => model.close());
  opening.defer(() => embedder.close());
  model.answer(script);
  const database = await openPostgres(place.url);
  opening.defer(() => database.close());
  const addresses = {
    DATABASE_URL: place.url,
    MILVUS_ADDRESS: `http://${milvus.address}`,
    OPENAI_BASE_URL: model.url,
    EMBEDDING_BASE_URL: embedder.url,
  };
  const faulty =
    ({ postgres: "DATABASE_URL", milvus: "MILVUS_ADDRESS", embedder: "EMBEDDING_BASE_URL" } as const)[dependency as "postgres"] ??
    "OPENAI_BASE_URL";
  const only = ONLY[dependency];
  const proxy = await startTcpProxy(addresses[faulty], only === undefined ? {} : { only });
  opening.defer(() => proxy.close());
  const environment = {
    ...addresses,
    [faulty]: proxy.url.replace(/\/$/, ""),
    CHAT_MODEL: CHAT,
    SUMMARY_MODEL: SUMMARY,
    MEMORY_MODEL: MEMORY,
    EMBEDDING_MODEL: "test-embed",
    EPISODE_MIN_SIMILARITY: "0.5", // its vectors are all alike, also with neutral sentences
    ...(dependency === "embedder" ? {} : { EMBEDDING_DIMENSIONS: "4" }), // else they are asked of its server
    ENABLE_EPISODIC_MEMORY: "true",
    ENABLE_CORE_MEMORY: "true",
    HISTORY_WINDOW: "2",
    SUMMARY_MIN_MESSAGES: "4",
    SUMMARY_UPDATE_DELTA: "2",
    MODEL_FIRST_TOKEN_TIMEOUT_MS: "5000",
    MODEL_IDLE_TIMEOUT_MS: "3000",
    MEMORY_READ_TIMEOUT_MS: "1500",
    TURN_LEASE_MS: "4000",
    SHUTDOWN_GRACE_MS: "1000",
  };
  let service: ServiceProcess | undefined;
  opening.defer(() => stage.stop());
  const stage = {
    proxy,
    environment,
    database,
    url: (): string => service?.url ?? "",
    async start(): Promise<void> {
      service = await startServiceProcess(environment);
    },
    /** As a container is stopped. Throws when the process has not lived until then, or does not end well. */
    async stop(): Promise<void> {
      const stopping = service;
      if (!stopping) return;
      service = undefined;
      stopping.kill("SIGTERM");
      expect({ code: await stopping.exited, output: stopping.output() }).toMatchObject({ code: 0 });
      expect(stopping.output()).not.toMatch(WORD);
    },
    async ask(session: string, message: string): Promise<SeenTurn> {
      const began = performance.now();
      const body = { user_id: USER, session_id: session, message };
      const { status, json, text } = await postJson<TurnResult & ErrorBody>(`${stage.url()}/api/v1/chat`, body, {
        "idempotency-key": message.match(WORD)?.[0] ?? "",
      });
      const ms = performance.now() - began;
      return { outcome: status === 200 ? "done" : json.error.code, ms, text, result: status === 200 ? json : undefined };
    },
    close: (): Promise<void> => opened.disposeAsync().finally(killServiceProcesses),
  };
  await stage.start();
  const { bring, settle } = conversationApi(stage.url());
  const imported = await bring(USER, FACTS);
  expect(await settle(imported.conversation_id, {}, 90_000)).toEqual({ settled: true, pending: 0 });
  const opened = opening.move();
  return stage;
}
