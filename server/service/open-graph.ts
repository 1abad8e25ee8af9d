import type { ConversationGraph } from "../../graph/build-graph.ts";
import { type ConversationGraphParts, createConversationGraph } from "../../graph/create-conversation-graph.ts";
import { makeMatchAgents, type MatchAgents } from "../../graph/match-agents.ts";
import { makePreviewPrompt, type PreviewPrompt } from "../../graph/preview-prompt.ts";
import type { RunJobsParts } from "../../memory/jobs/run-jobs.ts";
import { type CompactConversation, makeCompactConversation } from "../../memory/summary/summarise-conversation.ts";
import { type MemoryJobsParts, runMemoryJobs, summaryParts } from "../../memory/run-memory-jobs.ts";
import { OfflineChatModel } from "../../models/offline/offline-chat-model.ts";
import type { ModelFactsSource } from "../../models/facts/model-facts.ts";
import type { PromptLimits } from "../../models/facts/prompt-limits.ts";
import { makeSight } from "../../models/facts/sight.ts";
import type { KnowledgeHandlers } from "../../nodes/generate-kb.ts";
import { combineObservers, NOOP_OBSERVER, type Observer } from "../../observe/observer.ts";
import { makeUsageMeter, type UsageMeter } from "../limits/usage-meter.ts";
import { type Agents, openAgents } from "../parts/open-agents.ts";
import type { Config } from "../settings/config.ts";
import { openHandlers } from "./load-handlers.ts";
import { type Memory, openMemory } from "../parts/open-memory.ts";
import { type Mcp, type McpOptions, openMcp } from "../parts/open-mcp.ts";
import { openMeasures, openModelFacts, openPromptLimits } from "../parts/open-model-facts.ts";
import { createModels, type Models, OFFLINE } from "../parts/open-models.ts";
import { openTellQuestion } from "../turns/tell-question.ts";
import { openStores, type Stores } from "../parts/open-stores.ts";
import type { AgentExtras } from "../parts/open-agents.ts";

export interface OpenGraph {
  graph: ConversationGraph;
  previewPrompt: PreviewPrompt;
  matchAgents: MatchAgents;
  stores: Stores;
  models: Models;
  memory: Memory;
  facts: ModelFactsSource;
  meter: UsageMeter;
  promptLimits: PromptLimits;
  /** Null: nothing is summarised. */
  compact: CompactConversation | null;
  agents: Agents;
  mcp: Mcp;
  close(): Promise<void>;
}

export type OpenGraphOptions = Pick<RunJobsParts, "onRun" | "onError" | "whenQuiet" | "observer"> &
  Pick<MemoryJobsParts, "quietMs"> & {
    handlers?: KnowledgeHandlers | undefined;
    extras?: AgentExtras | undefined;
    mcp?: McpOptions | undefined;
    /** Called once for an answering model with an unknown context. */
    onModelAssumed?: (model: string) => void;
    /** Called with a system agent's names that mean nothing yet. */
    onUnmet?: (agent: string, problem: string) => void;
  };

/** Unfinished jobs are then handed back. */
const JOBS_GRACE_MS = 1_000;

function sharedSettings(config: Config, { database }: Stores, { timeouts }: Models) {
  const { HISTORY_WINDOW: historyWindow, SUMMARY_MIN_MESSAGES: minMessages, SUMMARY_UPDATE_DELTA: updateDelta } = config;
  return { database, historyWindow, summary: config.ENABLE_SUMMARY ? { minMessages, updateDelta } : null, timeouts };
}

function partsOfGraph(
  config: Config,
  {
    stores,
    models,
    memory,
    agents,
    facts,
    promptLimits,
    compact,
  }: Pick<OpenGraph, "stores" | "models" | "memory" | "agents" | "facts" | "promptLimits" | "compact">,
  { observer, handlers }: { observer: Observer; handlers: KnowledgeHandlers | undefined },
): ConversationGraphParts {
  const { MEMORY_READ_TIMEOUT_MS: timeoutMs } = config;
  const episodic = memory.episodes?.memory ?? null;
  return {
    ...sharedSettings(config, stores, models),
    observer,
    chatModel: models.chat ?? new OfflineChatModel(),
    chooseModels: models.choose,
    instructions: config.INSTRUCTIONS,
    knowledge: stores.knowledgeBases,
    routing: { embedder: episodic?.embedder ?? null, routerModel: models.router, timeoutMs },
    episodes: episodic && {
      recall: episodic.recall,
      topK: config.EPISODE_TOP_K,
      tokens: config.EPISODE_TOKENS,
      scope: config.EPISODE_SCOPE,
      timeoutMs,
    },
    ...(handlers ? { handlers } : {}),
    documents: episodic && { find: episodic.findPassages, topK: config.KNOWLEDGE_TOP_K },
    agents,
    questionModel: models.memory && config.MEMORY_MODEL !== undefined ? { model: models.memory, timeoutMs } : null,
    tellsQuestions: config.QUESTION_WEBHOOK_URL !== undefined,
    coreMemory: config.ENABLE_CORE_MEMORY ? { timeoutMs } : null,
    titles: models.title !== null,
    promptLimits,
    ...(config.CONTEXT_SHARES ? { contextShares: config.CONTEXT_SHARES } : {}),
    ...(compact ? { compact } : {}),
    prices: (name) => facts.of(name).prices,
    sight: makeSight({ capabilitiesOf: (name) => (name === OFFLINE ? [] : facts.of(name).capabilities), servedAs: models.servedAs }),
    leaseMs: config.TURN_LEASE_MS,
  };
}

/** Also starts the jobs. Throws AppError when the database cannot be opened, or contradicts the configuration. */
export async function openGraph(
  config: Config,
  {
    handlers: given,
    extras,
    mcp: mcpOptions,
    onModelAssumed = () => undefined,
    onUnmet = () => undefined,
    ...watching
  }: OpenGraphOptions = {},
): Promise<OpenGraph> {
  const handlers = await openHandlers(config, given);
  await using opening = new AsyncDisposableStack();
  const { observer = NOOP_OBSERVER, onError = () => undefined } = watching;
  const stores = await openStores(config, observer);
  opening.defer(() => stores.database.close());
  const measures = await openMeasures(stores.database, (error) => onError(error, "keeping what a model's server has shown"));
  opening.defer(() => measures.close());
  const { dialects } = measures;
  const models = createModels(config, dialects);
  const memory = await openMemory(config, stores.database, onError, observer, dialects);
  opening.defer(() => memory.close());
  const mcp = await openMcp(config, stores.database, mcpOptions);
  opening.defer(() => mcp.close());
  const agents = await openAgents(config, { stores, models, memory, mcp, extras, onUnmet });
  const { learned, counts } = measures;
  const facts = openModelFacts(config, { list: models.list, learned, onAssumed: onModelAssumed });
  opening.defer(() => facts.close());
  const meter = makeUsageMeter({
    store: stores.usage,
    pricesOf: (model) => facts.of(model).prices,
    onError: (error) => onError(error, "writing what models were asked for"),
  });
  opening.defer(() => meter.close());
  const counted = combineObservers(observer, meter.observer);
  const promptLimits = openPromptLimits(config, { facts, learned, counts });
  const { summary, historyWindow } = sharedSettings(config, stores, models);
  const compact =
    summary &&
    makeCompactConversation(
      summaryParts({
        database: stores.database,
        settings: { ...summary, historyWindow },
        model: models.summary,
        timeouts: models.timeouts,
        observer: counted,
      }),
    );
  const parts = partsOfGraph(config, { stores, models, memory, agents, facts, promptLimits, compact }, { observer: counted, handlers });
  const jobs = await runMemoryJobs({
    ...sharedSettings(config, stores, models),
    ...watching,
    observer: counted,
    within: ({ job, claimedAt }, step) => ("userId" in job ? meter.countFor(job, step, claimedAt) : step()),
    summaryModel: models.summary,
    titleModel: models.title,
    memoryModel: models.memory,
    coreMemory: config.ENABLE_CORE_MEMORY ? { sections: memory.sections } : null,
    episodicMemory: memory.episodes?.memory ?? null,
    concurrency: config.JOB_CONCURRENCY,
    retentionDays: config.RETENTION_DAYS ?? null,
    keepDecisionsDays: config.KEEP_DECISIONS_DAYS,
    tellQuestion: openTellQuestion(config, stores),
  });
  opening.defer(() => jobs.stop(JOBS_GRACE_MS));
  const opened = opening.move();
  return {
    graph: createConversationGraph(parts),
    previewPrompt: makePreviewPrompt(parts),
    matchAgents: makeMatchAgents(parts),
    ...{ stores, models, memory, agents, mcp, facts, meter, promptLimits, compact },
    close: () => opened.disposeAsync(),
  };
}
