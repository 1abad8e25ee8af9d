import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { createConversationGraph } from "../graph/create-conversation-graph.ts";
import type { ConversationGraph } from "../graph/build-graph.ts";
import { createOpenAIChatModel } from "../models/create-openai-chat-model.ts";
import { OfflineChatModel } from "../models/offline-chat-model.ts";
import { makeFixedKnowledgeCatalog, type KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
import type { Database } from "../stores/postgres/database.ts";
import { migrate } from "../stores/postgres/migrate.ts";
import { openEmbeddedPostgres } from "../stores/postgres/open-embedded-postgres.ts";
import { openPostgres } from "../stores/postgres/open-postgres.ts";
import type { Config } from "./config.ts";

/** A graph with all that is open under it. */
export interface OpenGraph {
  graph: ConversationGraph;
  database: Database;
  knowledge: KnowledgeCatalog;
  /** For the log: which model answers. */
  modelDescription: string;
  close(): Promise<void>;
}

/** Whether a model's server is configured; without one the offline model answers. */
export function usesModelServer(config: Config): boolean {
  return config.OPENAI_API_KEY !== undefined || config.OPENAI_BASE_URL !== undefined;
}

export function openDatabase(config: Config): Promise<Database> {
  return config.DATABASE_URL === undefined ? openEmbeddedPostgres(config.DATA_DIR) : openPostgres(config.DATABASE_URL);
}

function createChatModel(config: Config): BaseChatModel {
  if (!usesModelServer(config)) return new OfflineChatModel();
  return createOpenAIChatModel({ model: config.CHAT_MODEL, apiKey: config.OPENAI_API_KEY, baseUrl: config.OPENAI_BASE_URL });
}

/** Opens what the configuration asks for, migrates, and builds the graph over it. Throws AppError when the database cannot be opened. */
export async function openGraph(config: Config): Promise<OpenGraph> {
  const database = await openDatabase(config);
  try {
    await migrate(database);
    const knowledge = makeFixedKnowledgeCatalog([]);
    const graph = createConversationGraph({
      database,
      chatModel: createChatModel(config),
      knowledge,
      historyWindow: config.HISTORY_WINDOW,
      contextTokenBudget: config.CONTEXT_TOKEN_BUDGET,
      timeouts: { firstTokenMs: config.MODEL_FIRST_TOKEN_TIMEOUT_MS, idleMs: config.MODEL_IDLE_TIMEOUT_MS },
      leaseMs: config.TURN_LEASE_MS,
    });
    const modelDescription = usesModelServer(config) ? `${config.CHAT_MODEL} at ${config.OPENAI_BASE_URL ?? "OpenAI"}` : "offline";
    return { graph, database, knowledge, modelDescription, close: () => database.close() };
  } catch (error) {
    await database.close();
    throw error;
  }
}
