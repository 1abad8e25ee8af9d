import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AnswerTimeouts, DEFAULT_TIMEOUTS } from "../turn/deadlines.ts";
import type { ModelPrices } from "../models/facts/model-facts.ts";
import { type ChooseModels, firstChoice } from "../models/model-choice.ts";
import { makeLearnedContexts } from "../models/facts/learned-contexts.ts";
import { makePromptLimits, type PromptLimits } from "../models/facts/prompt-limits.ts";
import { makeTokenCounts } from "../models/facts/token-counts.ts";
import { makeSight, type Sight } from "../models/facts/sight.ts";
import { modelName } from "../models/model-name.ts";
import { type ContextShares, TURN_DEFAULTS } from "../turn/context.ts";
import { makeMakeRoom } from "../prompt/make-room.ts";
import { answerBound, contextTokenBudget } from "../models/openai-chat-model.ts";
import { buildGraph, type ConversationGraph, type Nodes } from "./build-graph.ts";
import { makeGenerate } from "../nodes/generate.ts";
import type { PromptSettings } from "../prompt/turn-prompt.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import type { FindPassages } from "../memory/documents/find-passages.ts";
import type { Recall } from "../memory/recall/recall-episodes.ts";
import { type CompactConversation, DEFAULT_SUMMARY } from "../memory/summary/summarise-conversation.ts";
import { makeCoreMemory, makeFollowingCoreMemory } from "../nodes/core-memory.ts";
import { makeRewriteQuestion } from "../memory/recall/rewrite-question.ts";
import { makeHistory } from "../nodes/history.ts";
import { makePersist } from "../nodes/persist.ts";
import { type KnowledgeHandlers, makeGenerateKb, makeKnowledgeHandlers } from "../nodes/generate-kb.ts";
import { makeGenerateAgent } from "../nodes/generate-agent.ts";
import { type AgentCatalog, NO_AGENTS } from "../agents/catalog/agent-catalog.ts";
import type { ToolHooks } from "../agents/run-tool-call.ts";
import { NO_SKILLS, type SkillCatalog } from "../agents/skills/skill-catalog.ts";
import type { ToolSource } from "../agents/tool.ts";
import { makeAgentRunStore } from "../stores/postgres/agents/agent-run-store.ts";
import { makePermissionStore } from "../stores/postgres/agents/permission-store.ts";
import { makeQuestionStore } from "../stores/postgres/agents/question-store.ts";
import { makeStepStore } from "../stores/postgres/agents/step-store.ts";
import { makeRetrieve } from "../nodes/retrieve.ts";
import { makeRoute, type RouteParts } from "../nodes/route.ts";
import { type KnowledgeCatalog, makeFixedKnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { makeFollowPaths } from "../stores/postgres/memory/follow-paths.ts";
import { makeCoreMemoryStore } from "../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../stores/postgres/database/database.ts";
import { makePictureStore } from "../stores/postgres/conversations/picture-store.ts";
import { makeEpisodeStore } from "../stores/postgres/memory/episode-store.ts";
import { makeTurnRecordStore } from "../stores/postgres/turns/turn-record-store.ts";
import { makeTurnStore } from "../stores/postgres/turns/turn-store.ts";
import { makeWindowStore } from "../stores/postgres/turns/window-store.ts";

/** The parts of a graph. The caller opens and closes them. */
export interface ConversationGraphParts {
  /** Migrated: see `migrate`. */
  database: Database;
  chatModel: BaseChatModel;
  /** The models that may answer, in order. Default: the chat model alone. */
  chooseModels?: ChooseModels | undefined;
  /** Text for the model in every turn, after the system prompt. Default: none. */
  instructions?: string | undefined;
  /** Default: none. */
  knowledge?: KnowledgeCatalog;
  /** Routes by meaning and by a model, besides by keywords. Default: neither. */
  routing?: Omit<RouteParts, "knowledge" | "agents">;
  /** The least completed messages in the window. Default 6. */
  historyWindow?: number;
  /** When `runMemoryJobs` summarises a conversation. Null: never. Default 10 and 5. */
  summary?: { minMessages: number; updateDelta: number } | null;
  /** Recalls earlier exchanges: see `openEpisodicMemory`. Default: off. */
  episodes?: {
    recall: Recall;
    /** The least episodes in a prompt, where a question fits so many. Default 3. */
    topK?: number;
    /** What episodes and what was said beside them may take of a prompt. Default 1,000. */
    tokens?: number;
    /** Default `user`. */
    scope?: "user" | "conversation";
    /** Milliseconds to search, and again to load. Default 800. */
    timeoutMs?: number;
  } | null;
  /**
   * Finds passages of documents: see `openEpisodicMemory`. A prompt gets `topK`, default 5. Null: a turn that needs documents is degraded.
   */
  documents?: { find: FindPassages; topK?: number } | null;
  /** Rewrites a question that points at something the rules do not find, within `timeoutMs`, default 800. Default: none. */
  questionModel?: { model: BaseChatModel; timeoutMs?: number } | null;
  /** Adds a job `tell_question` with each question of a turn. Default false. */
  tellsQuestions?: boolean;
  /** Handlers that answer for their knowledge bases. Default: none. */
  handlers?: KnowledgeHandlers;
  /** Agents besides the assistant, and the tools that they may call. Default: none. */
  agents?: AgentParts;
  /** Puts core memory into the prompt. Null: off. `timeoutMs` limits its read, default 800. */
  coreMemory?: { timeoutMs?: number } | null;
  /** `runMemoryJobs` has a model name conversations. Default false. */
  titles?: boolean;
  /** Tokens of a prompt; a function is asked for each turn. Default: 90 % of the model's context. */
  contextTokenBudget?: number | (() => number) | undefined;
  /** The limit of each model by name, learning from refusals. Default: `contextTokenBudget`. */
  promptLimits?: PromptLimits | undefined;
  /** Percent of a prompt's parts. Default: 10 for instructions, 50 for history, 25 for recent messages, 15 for the answer. */
  contextShares?: ContextShares | undefined;
  /** Summarises older messages at once when a prompt has no room for them. Default: only jobs summarise. */
  compact?: CompactConversation | undefined;
  /** Which models see pictures. Default: unknown, so each is tried. */
  sight?: Sight | undefined;
  /** Prices of a model by its name, for a turn's `cost`. Default: unknown. */
  prices?: (model: string) => ModelPrices | null;
  /** Deadlines of an answer. Default 30 seconds each. */
  timeouts?: AnswerTimeouts;
  /** Milliseconds until the conversation of a dead process is free. Default 15,000. */
  leaseMs?: number;
  /** Milliseconds that a turn waits for its answer to be stored. Default 30,000. */
  storeMs?: number;
  /** Watches nodes and model calls. Give it to `watchedDatabase` too, for statements. Default: nobody. */
  observer?: Observer;
}

/** The agents of a graph. */
export interface AgentParts {
  catalog: AgentCatalog;
  tools: ToolSource;
  /** Default: none. */
  skills?: SkillCatalog;
  hooks?: ToolHooks;
  /** Milliseconds for a call of a tool. Default 60,000. */
  toolTimeoutMs?: number;
  /** The IANA name of the time zone in which rules know the day. Default UTC. */
  timeZone?: string;
}

/** Lessons from refusals stay in this process. */
function limitsFor({ contextTokenBudget: given, chatModel }: ConversationGraphParts): PromptLimits {
  const budget = given ?? contextTokenBudget(chatModel);
  const known = typeof budget === "number" ? () => budget : budget;
  return makePromptLimits({ known, longestAnswer: answerBound(chatModel), learned: makeLearnedContexts(), counts: makeTokenCounts() });
}

export const promptSettings = ({
  instructions = "",
  contextShares: shares,
  sight = makeSight(),
}: ConversationGraphParts): PromptSettings => ({
  ...{ instructions, shares, sight },
});

/** The reading parts: the nodes before the model, what `history` loads, and the limit of a prompt. */
export function makeReading(parts: ConversationGraphParts) {
  const { database, chatModel, agents, observer = NOOP_OBSERVER } = parts;
  const { historyWindow = DEFAULT_SUMMARY.historyWindow, summary = DEFAULT_SUMMARY } = parts;
  const { episodes = null, coreMemory = {}, questionModel = null } = parts;
  const scope = episodes?.scope ?? TURN_DEFAULTS.scope;
  const limits = parts.promptLimits ?? limitsFor(parts);
  const chooseModels: ChooseModels = parts.chooseModels ?? (() => [{ name: modelName(chatModel), model: chatModel }]);
  const tokenBudget = (model: string | null): number => limits.of(firstChoice(chooseModels({ model, agent: null })).name);
  return {
    chooseModels,
    limits,
    loading: {
      windows: makeWindowStore(database),
      pictures: makePictureStore(database),
      historyWindow,
      tokenBudget,
      useSummary: summary !== null,
      episodes: episodes && makeEpisodeStore(database),
      scope,
      foresee: episodes?.recall.foresee,
      catchUp: episodes?.recall.catchUp,
    },
    route: makeRoute({
      ...parts.routing,
      observer,
      knowledge: parts.knowledge ?? makeFixedKnowledgeCatalog([]),
      ...(agents ? { agents: agents.catalog, runs: makeAgentRunStore(database) } : {}),
    }),
    coreMemory: makeCoreMemory({
      coreMemory: coreMemory && makeCoreMemoryStore(database),
      timeoutMs: coreMemory?.timeoutMs ?? TURN_DEFAULTS.memoryReadTimeoutMs,
    }),
    retrieve: makeRetrieve({
      turns: makeTurnRecordStore(database),
      recall: episodes?.recall ?? (async () => ({ episodes: [], order: [], degraded: false })),
      findPassages: parts.documents?.find ?? null,
      rewrite:
        questionModel &&
        makeRewriteQuestion(questionModel.model, { timeoutMs: TURN_DEFAULTS.memoryReadTimeoutMs, ...questionModel, observer }),
      passages: parts.documents?.topK ?? TURN_DEFAULTS.passages,
      topK: episodes?.topK ?? TURN_DEFAULTS.topK,
      episodeTokens: episodes?.tokens ?? TURN_DEFAULTS.episodeTokens,
      scope,
      timeoutMs: episodes?.timeoutMs ?? TURN_DEFAULTS.memoryReadTimeoutMs,
    }),
  };
}

/** Compiles the graph of a turn. Run it with `startTurn`, `invoke` or `stream`. */
export function createConversationGraph(parts: ConversationGraphParts): ConversationGraph {
  const { database, agents, leaseMs = TURN_DEFAULTS.leaseMs, observer = NOOP_OBSERVER } = parts;
  const { historyWindow = DEFAULT_SUMMARY.historyWindow, summary = DEFAULT_SUMMARY } = parts;
  const findPassages = parts.documents?.find ?? null;
  const passages = parts.documents?.topK ?? TURN_DEFAULTS.passages;
  const [turns, questions] = [makeTurnStore(database), makeQuestionStore(database, { isTold: parts.tellsQuestions === true })];
  const { limits, chooseModels, loading, ...reading } = makeReading(parts);
  const makeRoom =
    parts.compact && summary ? makeMakeRoom({ compact: parts.compact, historyWindow, deadlineMs: TURN_DEFAULTS.compactionMs }) : null;
  const settings = promptSettings(parts);
  const answering = {
    ...{ turns, leaseMs, timeouts: parts.timeouts ?? DEFAULT_TIMEOUTS, chooseModels },
    ...{ settings, makeRoom, limits, prices: parts.prices ?? (() => null), observer, steps: makeStepStore(database) },
  };
  const generate = makeGenerate(answering);
  const handlers = parts.handlers ?? makeKnowledgeHandlers();
  const remembered = makeFollowingCoreMemory(reading.coreMemory, makeFollowPaths(database));
  const { coreMemory, followedCoreMemory } = parts.coreMemory === null ? { ...reading, followedCoreMemory: undefined } : remembered;
  const nodes: Nodes = {
    ...reading,
    coreMemory,
    history: makeHistory({ ...loading, turns, records: makeTurnRecordStore(database), questions, followedCoreMemory, leaseMs }),
    generate,
    generateAgent: makeGenerateAgent({
      ...answering,
      runs: makeAgentRunStore(database),
      questions,
      permissions: makePermissionStore(database),
      catalog: agents?.catalog ?? NO_AGENTS,
      tools: agents?.tools ?? (() => []),
      skills: agents?.skills ?? NO_SKILLS,
      hooks: agents?.hooks ?? {},
      toolTimeoutMs: agents?.toolTimeoutMs ?? TURN_DEFAULTS.toolTimeoutMs,
      timeZone: agents?.timeZone ?? "UTC",
    }),
    generateKb: makeGenerateKb({ ...answering, handlers, generate, findPassages, passages }),
    hasHandler: (kbPrefix) => handlers.find(kbPrefix) !== undefined,
    persist: makePersist({
      turns,
      leaseMs,
      storeMs: parts.storeMs ?? TURN_DEFAULTS.storeMs,
      layers: {
        summary: summary && { ...summary, historyWindow },
        episodes: (parts.episodes ?? null) !== null,
        coreMemory: parts.coreMemory !== null,
        titles: parts.titles ?? false,
      },
    }),
  };
  return buildGraph(nodes, observer);
}
