import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AnswerTimeouts } from "../models/answer-deadlines.ts";
import { contextTokenBudget } from "../models/context-token-budget.ts";
import { makeGenerateRag } from "../nodes/generate-rag.ts";
import { makeHistory } from "../nodes/history.ts";
import { makePersist } from "../nodes/persist.ts";
import { makeRoute } from "../nodes/route.ts";
import { makeFixedKnowledgeCatalog, type KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import type { Database } from "../stores/postgres/database.ts";
import { makeMessageStore } from "../stores/postgres/message-store.ts";
import { makeTurnStore } from "../stores/postgres/turn-store.ts";
import { buildGraph, type ConversationGraph } from "./build-graph.ts";

/** What a graph is made of. The caller opens and closes the database; the graph opens nothing. */
export interface ConversationGraphParts {
  /** Migrated: see `migrate`. */
  database: Database;
  chatModel: BaseChatModel;
  /** Default: none. */
  knowledge?: KnowledgeCatalog;
  /** Completed messages in the window, at most. Default 6. */
  historyWindow?: number;
  /** Default: what the model's metadata says it takes. */
  contextTokenBudget?: number | undefined;
  /** Default 30 seconds each. */
  timeouts?: AnswerTimeouts;
  /** Milliseconds after which the conversation of a dead process is free again. Default 15,000. */
  leaseMs?: number;
}

/** The compiled graph of one turn. It keeps no state between turns but the database: run it with `startTurn`, `invoke` or `stream`. */
export function createConversationGraph(parts: ConversationGraphParts): ConversationGraph {
  const { database, chatModel, historyWindow = 6, leaseMs = 15_000 } = parts;
  const turns = makeTurnStore(database);
  return buildGraph({
    route: makeRoute({ knowledge: parts.knowledge ?? makeFixedKnowledgeCatalog([]) }),
    history: makeHistory({ turns, messages: makeMessageStore(database), windowSize: historyWindow, leaseMs }),
    generateRag: makeGenerateRag({
      chatModel,
      turns,
      leaseMs,
      timeouts: parts.timeouts ?? { firstTokenMs: 30_000, idleMs: 30_000 },
      tokenBudget: parts.contextTokenBudget ?? contextTokenBudget(chatModel),
    }),
    persist: makePersist({ turns }),
  });
}
