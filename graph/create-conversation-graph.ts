import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type AnswerTimeouts, DEFAULT_TIMEOUTS } from "../models/deadlines.ts";
import { contextTokenBudget } from "../models/openai-chat-model.ts";
import { makeGenerateKb } from "../nodes/generate-kb.ts";
import { makeGenerateRag } from "../nodes/generate-rag.ts";
import { NOOP_OBSERVER, type Observer } from "../observe/observer.ts";
import type { FindPassages } from "../memory/knowledge/find-passages.ts";
import type { Recall } from "../memory/recall/recall-episodes.ts";
import { DEFAULT_SUMMARY } from "../memory/summary/summary-due.ts";
import { makeCoreMemory } from "../nodes/core-memory.ts";
import { makeHistory } from "../nodes/history.ts";
import { jobsAfterTurn, makePersist } from "../nodes/persist.ts";
import { type KnowledgeHandlers, makeKnowledgeHandlers } from "../nodes/knowledge-handlers.ts";
import { makeRetrieve } from "../nodes/retrieve.ts";
import { makeRoute, type RouteParts } from "../nodes/route.ts";
import { type KnowledgeCatalog, makeFixedKnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import { makeCoreMemoryStore } from "../stores/postgres/memory/core-memory-store.ts";
import type { Database } from "../stores/postgres/database/database.ts";
import { makeEpisodeStore } from "../stores/postgres/memory/episode-store.ts";
import { makeTurnStore } from "../stores/postgres/conversations/turn-store.ts";
import { makeWindowStore } from "../stores/postgres/conversations/window-store.ts";
import { buildGraph, type ConversationGraph, type Nodes } from "./build-graph.ts";

/** What a graph is made of. The caller opens and closes the database; the graph opens nothing. */
export interface ConversationGraphParts {
  /** Migrated: see `migrate`. */
  database: Database;
  chatModel: BaseChatModel;
  /** Default: none. */
  knowledge?: KnowledgeCatalog;
  /** How a message finds its knowledge base besides by keywords: by meaning, and by asking a model when that is not clear. Default: neither. */
  routing?: Omit<RouteParts, "knowledge">;
  /** Completed messages in the window, at least. Default 6. */
  historyWindow?: number;
  /** When a conversation is summarised; `runMemoryJobs` does it. Null: never, and every message stays in the window. Default 10 and 5. */
  summary?: { minMessages: number; updateDelta: number } | null;
  /** Recalls earlier exchanges: see `openEpisodicMemory`. Default: none are recalled, and no turn is made an episode. */
  episodes?: {
    recall: Recall;
    /** Episodes in a prompt. Default 3. */
    topK?: number;
    /** Default `user`. */
    scope?: "user" | "conversation";
    /** Milliseconds for the whole search. Default 800. */
    timeoutMs?: number;
  } | null;
  /** Finds passages of documents: see `openEpisodicMemory`. Null: there are none to find, and a turn that needs them says so. */
  documents?: {
    find: FindPassages;
    /** Passages in a prompt. Default 4. */
    topK?: number;
  } | null;
  /** Answer instead of the general generator for the knowledge bases that have one. Default: none. */
  handlers?: KnowledgeHandlers;
  /** What is known about the user, in the prompt; `runMemoryJobs` keeps it true. Null: none is. `timeoutMs` for its read, default 800. */
  coreMemory?: { timeoutMs?: number } | null;
  /** Default: what the model's metadata says it takes. */
  contextTokenBudget?: number | undefined;
  /** Default 30 seconds each. */
  timeouts?: AnswerTimeouts;
  /** Milliseconds after which the conversation of a dead process is free again. Default 15,000. */
  leaseMs?: number;
  /** Watches nodes and calls of models. Give it to `watchedDatabase` too, to have statements watched. Default: nobody. */
  observer?: Observer;
}

/** The compiled graph of one turn. It keeps no state between turns but the database: run it with `startTurn`, `invoke` or `stream`. */
export function createConversationGraph(parts: ConversationGraphParts): ConversationGraph {
  const {
    database,
    chatModel,
    historyWindow = DEFAULT_SUMMARY.historyWindow,
    summary = DEFAULT_SUMMARY,
    leaseMs = 15_000,
    observer = NOOP_OBSERVER,
  } = parts;
  const episodes = parts.episodes ?? null;
  const scope = episodes?.scope ?? "user";
  const coreMemory = parts.coreMemory === undefined ? {} : parts.coreMemory;
  const turns = makeTurnStore(database);
  const tokenBudget = parts.contextTokenBudget ?? contextTokenBudget(chatModel);
  const answering = { chatModel, turns, leaseMs, timeouts: parts.timeouts ?? DEFAULT_TIMEOUTS };
  const generateRag = makeGenerateRag({ ...answering, tokenBudget, observer });
  const handlers = parts.handlers ?? makeKnowledgeHandlers();
  const nodes: Nodes = {
    route: makeRoute({ ...parts.routing, observer, knowledge: parts.knowledge ?? makeFixedKnowledgeCatalog([]) }),
    history: makeHistory({
      turns,
      windows: makeWindowStore(database),
      historyWindow,
      tokenBudget,
      useSummary: summary !== null,
      episodes: episodes && makeEpisodeStore(database),
      scope,
      foresee: episodes?.recall.foresee,
      leaseMs,
    }),
    coreMemory: makeCoreMemory({ coreMemory: coreMemory && makeCoreMemoryStore(database), timeoutMs: coreMemory?.timeoutMs ?? 800 }),
    retrieve: makeRetrieve({
      recall: episodes?.recall ?? (async () => ({ episodes: [], degraded: false })),
      findPassages: parts.documents?.find ?? null,
      passages: parts.documents?.topK ?? 4,
      topK: episodes?.topK ?? 3,
      scope,
      timeoutMs: episodes?.timeoutMs ?? 800,
    }),
    generateRag,
    generateKb: makeGenerateKb({ ...answering, handlers, generateRag, findPassages: parts.documents?.find ?? null }),
    hasHandler: (kbPrefix) => handlers.find(kbPrefix) !== undefined,
    persist: makePersist({
      turns,
      leaseMs,
      jobsAfter: (state) =>
        jobsAfterTurn(
          { summary: summary && { ...summary, historyWindow }, episodes: episodes !== null, coreMemory: coreMemory !== null },
          state,
        ),
    }),
  };
  return buildGraph(nodes, observer);
}
