/** The public API of the package. Importing it opens nothing and reads no environment. */
export { AppError, type ErrorContent } from "../errors/app-error.ts";
export { ERROR_CODES, type ErrorCode } from "../errors/error-codes.ts";
export { type AgentCatalog, makeAgentCatalog } from "../agents/catalog/agent-catalog.ts";
export type { ToolHooks } from "../agents/run-tool-call.ts";
export { type AgentTool, fromLangChainTool, type ToolSource, type ToolTurn, type WantedTools } from "../agents/tool.ts";
export type { Agent, AgentSpec, AgentSpecInput } from "../turn/agent.ts";
export type { ChooseModels, ModelChoice } from "../models/model-choice.ts";
export type { ModelOptions } from "../turn/model-options.ts";
export { makeErase, type Erase, type EraseReceipt } from "../memory/erase/erase.ts";
export { openEpisodicMemory, type EpisodicMemory, type EpisodicMemoryParts } from "../memory/episodes/open-episodic-memory.ts";
export type { Recall, RecalledEpisode, RecallRequest } from "../memory/recall/recall-episodes.ts";
export { MemoryStore, type MemoryStoreParts } from "../memory/store/memory-store.ts";
export type { JobRun, RunningJobs } from "../memory/jobs/run-jobs.ts";
export { runMemoryJobs, type MemoryJobsParts } from "../memory/run-memory-jobs.ts";
export type { Happening, Observer, Work, WorkFacts } from "../observe/observer.ts";
export { createOpenAIChatModel, type OpenAIChatModelOptions } from "../models/openai-chat-model.ts";
export type { Embedder } from "../models/embedder.ts";
export { makeHashedEmbedder } from "../models/offline/hashed-embedder.ts";
export { OfflineChatModel } from "../models/offline/offline-chat-model.ts";
export { openOpenAIEmbedder, type OpenAIEmbedderOptions } from "../models/openai-embedder.ts";
export { makeJobOverview, type DeadLetter, type JobCount, type JobOverview, type JobState } from "../stores/jobs/job-overview.ts";
export { openMilvusSearchStore } from "../stores/search/milvus/open-milvus-search-store.ts";
export { openPostgresSearchStore } from "../stores/search/postgres/open-postgres-search-store.ts";
export type { SearchStore } from "../stores/search/contract/search-index.ts";
export {
  makeKnowledgeHandlers,
  type KnowledgeHandler,
  type KnowledgeHandlerAnswer,
  type KnowledgeHandlerRequest,
  type KnowledgeHandlers,
  type KnowledgeHandlersByPrefix,
} from "../nodes/generate-kb.ts";
export { makeDocumentStore, type DocumentStore, type StoredDocument } from "../stores/postgres/knowledge/document-store.ts";
export { makeKnowledgeBaseStore, type KnowledgeBaseStore } from "../stores/postgres/knowledge/knowledge-base-store.ts";
export { makeFixedKnowledgeCatalog, type KnowledgeBase, type KnowledgeCatalog } from "../stores/knowledge-catalog.ts";
export type { Owner } from "../turn/owner.ts";
export { decodeCursor, encodeCursor, type Page, type PageRequest } from "../stores/page.ts";
export { makeConversationStore, type ConversationStore } from "../stores/postgres/conversations/conversation-store.ts";
export { makeCoreMemoryStore, type CoreMemoryStore, type SectionVersion } from "../stores/postgres/memory/core-memory-store.ts";
export { makeEraseStore, type EraseStore } from "../stores/postgres/erase/erase-store.ts";
export { makeOperationStore, type MemoryOperation, type OperationStore } from "../stores/postgres/memory/operation-store.ts";
export type { Database, Queryable, Statement } from "../stores/postgres/database/database.ts";
export { makeImportStore, type ImportStore } from "../stores/postgres/conversations/import-store.ts";
export { makeMessageStore, type MessageStore, type StoredMessage } from "../stores/postgres/conversations/message-store.ts";
export { makeSummaryStore, type StoredSummary, type SummaryStore } from "../stores/postgres/memory/summary-store.ts";
export { watchedDatabase } from "../stores/postgres/database/database-decorators.ts";
export { migrate } from "../stores/postgres/database/migrate.ts";
export { openEmbeddedPostgres } from "../stores/postgres/database/open-embedded-postgres.ts";
export { openPostgres } from "../stores/postgres/database/open-postgres.ts";
export type { ConversationGraph } from "./build-graph.ts";
export { type AgentParts, createConversationGraph, type ConversationGraphParts } from "./create-conversation-graph.ts";
export { startTurn, type RunningTurn, type TurnOptions } from "./start-turn.ts";
export type { TurnInput } from "../turn/turn-input.ts";
export type { GraphStreamMode, GraphWatch } from "./stream-graph.ts";
export { type Picture, type PictureProblem, readPicture } from "../turn/picture.ts";
export { makeSight, type Sight, type SightParts } from "../models/facts/sight.ts";
export {
  ConversationState,
  type ConversationUpdate,
  type Receipt,
  type RetrievalMode as AgentType,
  type RouteDecision,
} from "../turn/state.ts";
export type { Usage } from "../turn/usage.ts";
export type { TurnEvent, TurnResult, TurnTimings } from "../turn/events.ts";
export type { MessageToImport } from "../stores/postgres/conversations/plan-import.ts";
export type { MilvusAddress } from "../stores/search/milvus/connect-milvus.ts";
