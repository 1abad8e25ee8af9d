import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { RunJobsParts } from "../../memory/jobs/run-jobs.ts";
import { DEFAULT_SECTIONS } from "../../memory/agent/core-sections.ts";
import { type MemoryJobsParts, runMemoryJobs } from "../../memory/jobs/run-memory-jobs.ts";
import { createConversationGraph } from "../../graph/create-conversation-graph.ts";
import type { ConversationGraph } from "../../graph/build-graph.ts";
import { NOOP_OBSERVER } from "../../observe/observer.ts";
import type { KnowledgeHandlers } from "../../nodes/knowledge-handlers.ts";
import { createOpenAIChatModel } from "../../models/openai-chat-model.ts";
import type { AnswerTimeouts } from "../../models/deadlines.ts";
import { OfflineChatModel } from "../../models/offline/offline-chat-model.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { releaseDeadLeases } from "../../stores/postgres/conversations/recover-turns.ts";
import { makeKnowledgeBaseStore } from "../../stores/postgres/knowledge/knowledge-base-store.ts";
import { watchedDatabase } from "../../stores/postgres/database/database-decorators.ts";
import { migrate } from "../../stores/postgres/database/migrate.ts";
import { openEmbeddedPostgres } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import type { Config } from "./config.ts";
import { openEpisodes, type OpenEpisodes } from "./open-episodes.ts";

/** A graph with all that is open under it, and what its turns leave to be done being done. */
export interface OpenGraph {
  graph: ConversationGraph;
  database: Database;
  /** The model that answers, null without a model's server, and how long it may take. */
  answering: { model: BaseChatModel | null; timeouts: AnswerTimeouts };
  /** For the log: which model answers. */
  modelDescription: string;
  /** Null when episodic memory is switched off. */
  episodes: OpenEpisodes | null;
  /** For the log: which layers of memory are on. */
  layers: string[];
  close(): Promise<void>;
}

/** Whether a model's server is configured; without one the offline model answers. */
export function usesModelServer(config: Config): boolean {
  return config.OPENAI_API_KEY !== undefined || config.OPENAI_BASE_URL !== undefined;
}

export function openDatabase(config: Config): Promise<Database> {
  return config.DATABASE_URL === undefined ? openEmbeddedPostgres(config.DATA_DIR) : openPostgres(config.DATABASE_URL);
}

/** Null without a model's server. */
function createModel(config: Config, model: string): BaseChatModel | null {
  if (!usesModelServer(config)) return null;
  return createOpenAIChatModel({ model, apiKey: config.OPENAI_API_KEY, baseUrl: config.OPENAI_BASE_URL });
}

/** The sections that core memory has, those of the configuration last. */
export function coreSections({ CORE_MEMORY_SECTIONS: more = [] }: Config): string[] {
  return [...new Set([...DEFAULT_SECTIONS, ...more])];
}

/** How long jobs may go on when the process stops, in milliseconds; those that take longer are handed back. */
const JOBS_GRACE_MS = 1_000;

/**
 * Opens what the configuration asks for, migrates, builds the graph over it and starts the jobs behind it. Throws AppError when the
 * database cannot be opened, or does not go with the configuration.
 */
export async function openGraph(
  config: Config,
  {
    handlers,
    ...watch
  }: Pick<RunJobsParts, "onRun" | "onError" | "whenQuiet" | "observer"> &
    Pick<MemoryJobsParts, "quietMs"> & { handlers?: KnowledgeHandlers | undefined } = {},
): Promise<OpenGraph> {
  await using opening = new AsyncDisposableStack();
  const { observer = NOOP_OBSERVER } = watch;
  const database = watchedDatabase(await openDatabase(config), observer);
  opening.defer(() => database.close());
  await migrate(database);
  if (database.isEmbedded) await releaseDeadLeases(database); // its folder is locked: whoever had it is dead
  const knowledge = makeKnowledgeBaseStore(database);
  const episodes = config.ENABLE_EPISODIC_MEMORY
    ? await openEpisodes(config, database, watch.onError ?? (() => undefined), observer)
    : null;
  if (episodes) opening.defer(() => episodes.close());
  const shared = {
    database,
    historyWindow: config.HISTORY_WINDOW,
    summary: config.ENABLE_SUMMARY ? { minMessages: config.SUMMARY_MIN_MESSAGES, updateDelta: config.SUMMARY_UPDATE_DELTA } : null,
    timeouts: { firstTokenMs: config.MODEL_FIRST_TOKEN_TIMEOUT_MS, idleMs: config.MODEL_IDLE_TIMEOUT_MS },
  };
  const chatModel = createModel(config, config.CHAT_MODEL);
  const graph = createConversationGraph({
    ...shared,
    observer,
    chatModel: chatModel ?? new OfflineChatModel(),
    knowledge,
    routing: {
      embedder: episodes?.memory.embedder ?? null,
      routerModel: createModel(config, config.ROUTER_MODEL ?? config.CHAT_MODEL),
      timeoutMs: config.MEMORY_READ_TIMEOUT_MS,
    },
    episodes: episodes && {
      recall: episodes.memory.recall,
      topK: config.EPISODE_TOP_K,
      scope: config.EPISODE_SCOPE,
      timeoutMs: config.MEMORY_READ_TIMEOUT_MS,
    },
    ...(handlers && config.ENABLE_KB_HANDLERS ? { handlers } : {}),
    documents: episodes && { find: episodes.memory.findPassages },
    coreMemory: config.ENABLE_CORE_MEMORY ? { timeoutMs: config.MEMORY_READ_TIMEOUT_MS } : null,
    contextTokenBudget: config.CONTEXT_TOKEN_BUDGET,
    leaseMs: config.TURN_LEASE_MS,
  });
  const summaryModel = createModel(config, config.SUMMARY_MODEL ?? config.CHAT_MODEL);
  const jobs = await runMemoryJobs({
    ...shared,
    ...watch,
    summaryModel,
    memoryModel: createModel(config, config.MEMORY_MODEL ?? config.CHAT_MODEL),
    coreMemory: config.ENABLE_CORE_MEMORY ? { sections: coreSections(config) } : null,
    episodicMemory: episodes?.memory ?? null,
    concurrency: config.JOB_CONCURRENCY,
  });
  opening.defer(() => jobs.stop(JOBS_GRACE_MS));
  const opened = opening.move();
  return {
    graph,
    answering: { model: chatModel, timeouts: shared.timeouts },
    database,
    episodes,
    modelDescription: usesModelServer(config) ? `${config.CHAT_MODEL} at ${config.OPENAI_BASE_URL ?? "OpenAI"}` : "offline",
    layers: [
      "window",
      ...(config.ENABLE_SUMMARY ? ["summary"] : []),
      ...(config.ENABLE_CORE_MEMORY ? ["core memory"] : []),
      ...(episodes ? [`episodic (${episodes.memory.embedder.name}, ${episodes.store.description})`] : []),
    ],
    close: () => opened.disposeAsync(),
  };
}
