import type { Observer } from "../../observe/observer.ts";
import { type JobOverview, makeJobOverview } from "../../stores/jobs/job-overview.ts";
import { type ConversationStore, makeConversationStore } from "../../stores/postgres/conversations/conversation-store.ts";
import { type ImportStore, makeImportStore } from "../../stores/postgres/conversations/import-store.ts";
import { makeMessageStore, type MessageStore } from "../../stores/postgres/conversations/message-store.ts";
import { releaseDeadLeases } from "../../stores/postgres/conversations/recover-turns.ts";
import { makeTurnRecordStore, type TurnRecordStore } from "../../stores/postgres/conversations/turn-record-store.ts";
import { watchedDatabase } from "../../stores/postgres/database/database-decorators.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { migrate } from "../../stores/postgres/database/migrate.ts";
import { openEmbeddedPostgres } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { type ChunkStore, makeChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import { type DocumentStore, makeDocumentStore } from "../../stores/postgres/knowledge/document-store.ts";
import { type KnowledgeBaseStore, makeKnowledgeBaseStore } from "../../stores/postgres/knowledge/knowledge-base-store.ts";
import { type CoreMemoryStore, makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import { makeOperationStore, type OperationStore } from "../../stores/postgres/memory/operation-store.ts";
import { makeSummaryStore, type SummaryStore } from "../../stores/postgres/memory/summary-store.ts";
import type { Config } from "./config.ts";

/** The database, and what the routes read and write in it. */
export interface Stores {
  database: Database;
  conversations: ConversationStore;
  messages: MessageStore;
  imports: ImportStore;
  turns: TurnRecordStore;
  summaries: SummaryStore;
  coreMemory: CoreMemoryStore;
  operations: OperationStore;
  knowledgeBases: KnowledgeBaseStore;
  documents: DocumentStore;
  chunks: ChunkStore;
  jobs: JobOverview;
}

/** Throws AppError `invalid_configuration` when it cannot be opened. */
export function openDatabase({ DATABASE_URL, DATA_DIR }: Pick<Config, "DATABASE_URL" | "DATA_DIR">): Promise<Database> {
  return DATABASE_URL === undefined ? openEmbeddedPostgres(DATA_DIR) : openPostgres(DATABASE_URL);
}

/** Opens and migrates the database. Whoever calls closes it. */
export async function openStores(config: Config, observer: Observer): Promise<Stores> {
  const database = watchedDatabase(await openDatabase(config), observer);
  try {
    await migrate(database);
    if (database.isEmbedded) await releaseDeadLeases(database); // its folder is locked: whoever had it is dead
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    database,
    conversations: makeConversationStore(database),
    messages: makeMessageStore(database),
    imports: makeImportStore(database),
    turns: makeTurnRecordStore(database),
    summaries: makeSummaryStore(database),
    coreMemory: makeCoreMemoryStore(database),
    operations: makeOperationStore(database),
    knowledgeBases: makeKnowledgeBaseStore(database),
    documents: makeDocumentStore(database),
    chunks: makeChunkStore(database),
    jobs: makeJobOverview(database),
  };
}
