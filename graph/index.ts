/** The public API of the package. Importing it opens nothing and reads no environment. */
export { AppError, type ErrorContent } from "../errors/app-error.ts";
export { ERROR_CODES, type ErrorCode } from "../errors/error-codes.ts";
export { createOpenAIChatModel, type OpenAIChatModelOptions } from "../models/create-openai-chat-model.ts";
export { OfflineChatModel } from "../models/offline-chat-model.ts";
export { makeFixedKnowledgeCatalog, type KnowledgeBase, type KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
export type { Owner } from "../stores/owner.ts";
export { decodeCursor, encodeCursor, type Page, type PageRequest } from "../stores/page.ts";
export { makeConversationStore, type ConversationStore } from "../stores/postgres/conversation-store.ts";
export type { Database, Queryable, Statement } from "../stores/postgres/database.ts";
export { makeMessageStore, type MessageStore, type StoredMessage } from "../stores/postgres/message-store.ts";
export { migrate } from "../stores/postgres/migrate.ts";
export { openEmbeddedPostgres } from "../stores/postgres/open-embedded-postgres.ts";
export { openPostgres } from "../stores/postgres/open-postgres.ts";
export type { ConversationGraph } from "./build-graph.ts";
export { createConversationGraph, type ConversationGraphParts } from "./create-conversation-graph.ts";
export { startTurn, type RunningTurn, type TurnInput, type TurnOptions } from "./start-turn.ts";
export { ConversationState, type AgentType, type ConversationUpdate, type Receipt, type RouteDecision, type Usage } from "./state.ts";
export type { TurnEvent, TurnResult, TurnTimings } from "./turn-event.ts";
