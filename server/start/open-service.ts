import type { Logger } from "pino";
import { toAppError } from "../../errors/app-error.ts";
import type { JobRun } from "../../memory/jobs/run-jobs.ts";
import { makeErase } from "../../memory/erase/erase.ts";
import type { KnowledgeHandlers } from "../../nodes/knowledge-handlers.ts";
import { findOldestWaiting, makeJobOverview } from "../../stores/jobs/job-overview.ts";
import { makeChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import { makeConversationStore } from "../../stores/postgres/conversations/conversation-store.ts";
import { makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import { makeDocumentStore } from "../../stores/postgres/knowledge/document-store.ts";
import { makeEraseStore } from "../../stores/postgres/erase/erase-store.ts";
import { makeImportStore } from "../../stores/postgres/conversations/import-store.ts";
import { makeKnowledgeBaseStore } from "../../stores/postgres/knowledge/knowledge-base-store.ts";
import { makeMessageStore } from "../../stores/postgres/conversations/message-store.ts";
import { makeOperationStore } from "../../stores/postgres/memory/operation-store.ts";
import { makeSummaryStore } from "../../stores/postgres/memory/summary-store.ts";
import { CANCEL_CHANNEL, makeTurnRecordStore } from "../../stores/postgres/conversations/turn-record-store.ts";
import { makeApp } from "../http/app.ts";
import type { Config } from "./config.ts";
import { checkModelServer, checkPostgres, type DependencyCheck, withTimeout } from "../observe/health-routes.ts";
import { openLimits } from "../limits/open-limits.ts";
import { closeServer, CONNECTION_LIMITS, type ConnectionLimits, listen, portOf } from "../http/listen.ts";
import { coreSections, openGraph, usesModelServer } from "./open-graph.ts";
import { causeFacts } from "../observe/logger.ts";
import { openObserving } from "../observe/open-observing.ts";
import { usesEmbeddingServer } from "./open-episodes.ts";
import { makeVerifyToken } from "../auth/verify-token.ts";
import { makeRecentTurns } from "../observe/status-routes.ts";
import { makeIdleDetector } from "../http/idle-detector.ts";
import { makeTurnRegistry } from "../turns/turn-registry.ts";

const OPENAI_URL = "https://api.openai.com/v1";

export interface Service {
  /** Where it listens: http://host:port */
  url: string;
  /** What it uses, for the log. */
  uses: { database: string; model: string; layers: string[] };
  /** Stops letting turns in, lets the running ones finish within SHUTDOWN_GRACE_MS, then closes everything in reverse order. */
  close(): Promise<void>;
}

/** A line for each run of a job that failed; the others only when debugging. */
function logRun(log: Logger, { kind, outcome, ms, error }: JobRun): void {
  const then = outcome === "failed" ? "it will be tried again" : "but nothing of its work is left to do";
  if (error) log.warn({ kind, ms, code: error.code, causes: causeFacts(error) }, `job failed, ${then}`);
  else log.debug({ kind, outcome, ms }, "job ran");
}

/** Opens everything the configuration asks for and listens. What was opened is closed again when a later part fails. */
export async function openService(
  config: Config,
  log: Logger,
  {
    heartbeatMs = 15_000,
    handlers,
    connectionLimits = {},
  }: { heartbeatMs?: number; handlers?: KnowledgeHandlers; connectionLimits?: Partial<ConnectionLimits> } = {},
): Promise<Service> {
  await using opening = new AsyncDisposableStack();
  const { metrics, traces, observer, ...observing } = await openObserving(config, log, {
    chat: usesModelServer(config) ? "openai" : "built-in",
    embeddings: usesEmbeddingServer(config) ? "openai" : "built-in",
  });
  opening.defer(() => observing.close());
  const requestsFirst = makeIdleDetector();
  const parts = await openGraph(config, {
    observer,
    onRun(run) {
      metrics.jobRan(run);
      logRun(log, run);
    },
    handlers,
    whenQuiet: () => requestsFirst.whenQuiet(),
    quietMs: () => requestsFirst.quietMs(),
    onError: (error) => log.warn({ causes: causeFacts(toAppError(error)) }, "background work failed, it is tried again"),
  });
  opening.defer(() => parts.close());
  const { graph, database, episodes, modelDescription, layers } = parts;

  const limits = openLimits(config, database, {
    onError: (error) => log.warn({ causes: causeFacts(toAppError(error)) }, "used tokens are not written yet, it will be tried again"),
    onRefused: (why) => metrics.turnRefused(why),
  });
  metrics.watchLag(limits.lagMs);
  opening.defer(() => limits.close());
  const registry = makeTurnRegistry();
  // A notification that is lost is made up for when the turn renews its lease.
  const cancelHeard = (turnId: string): void => registry.find(turnId)?.turn.cancel();
  opening.defer(await database.listen(CANCEL_CHANNEL, { onNotification: cancelHeard, onConnect: () => undefined }));
  let stopping = false;
  const dependencies: Record<string, DependencyCheck> = { postgres: checkPostgres(database, config.DATA_DIR) };
  if (usesModelServer(config)) dependencies["chat_model"] = checkModelServer(config.OPENAI_BASE_URL ?? OPENAI_URL, config.OPENAI_API_KEY);

  const conversations = makeConversationStore(database);
  const knowledgeBases = makeKnowledgeBaseStore(database);
  const app = makeApp({
    graph,
    database,
    knowledgeBases,
    documents: makeDocumentStore(database),
    chunks: makeChunkStore(database),
    hasIndex: episodes !== null,
    registry,
    turns: makeTurnRecordStore(database),
    requestsFirst,
    limits: limits.turns,
    taskLimits: limits.tasks,
    taskModel: { ...parts.answering, observer },
    rates: limits.rates,
    log,
    heartbeatMs,
    dependencies,
    optionalDependencies: episodes ? { episode_index: withTimeout(() => episodes.store.check()) } : {},
    conversations,
    erase: makeErase(makeEraseStore(database), episodes?.memory.index ?? null),
    coreMemory: makeCoreMemoryStore(database),
    sections: coreSections(config),
    operations: makeOperationStore(database),
    messages: makeMessageStore(database),
    summaries: makeSummaryStore(database),
    jobOverview: makeJobOverview(database),
    imports: makeImportStore(database),
    jobKinds: [
      ...(config.ENABLE_SUMMARY ? ["summarise" as const] : []),
      ...(episodes ? ["index_episodes" as const] : []),
      ...(config.ENABLE_CORE_MEMORY ? ["remember" as const] : []),
    ],
    recall: episodes?.memory.recall ?? null,
    memoryReadTimeoutMs: config.MEMORY_READ_TIMEOUT_MS,
    metrics,
    recentTurns: makeRecentTurns(),
    layers: {
      summary: config.ENABLE_SUMMARY,
      core_memory: config.ENABLE_CORE_MEMORY,
      episodic: episodes !== null,
      knowledge: episodes !== null,
    },
    models: { chat: modelDescription, embedder: episodes?.memory.embedder.name ?? null },
    requests: metrics.requests,
    traces,
    oldestWaiting: () => findOldestWaiting(database),
    apiKeys: config.API_KEYS,
    verifyToken: makeVerifyToken(config, (error) =>
      log.warn({ causes: causeFacts(toAppError(error)) }, "the keys of JWT_JWKS_URL are not refreshed"),
    ),
    corsOrigins: config.CORS_ORIGINS,
    allowedHosts: config.ALLOWED_HOSTS,
    trustProxy: config.TRUST_PROXY,
    maxMessageChars: config.MAX_MESSAGE_CHARS,
    isStopping: () => stopping,
  });
  const server = await listen(app, config.PORT, config.HOST, { ...CONNECTION_LIMITS, ...connectionLimits });
  opening.defer(() => closeServer(server));
  opening.defer(async () => {
    stopping = true;
    await registry.drain(config.SHUTDOWN_GRACE_MS);
  });

  const opened = opening.move();
  const host = config.HOST.includes(":") ? `[${config.HOST}]` : config.HOST;
  return {
    url: `http://${host}:${portOf(server)}`,
    uses: { database: database.description, model: modelDescription, layers },
    close: () => opened.disposeAsync(),
  };
}
