import type { Observer } from "../../observe/observer.ts";
import { makeJobOverview } from "../../stores/jobs/job-overview.ts";
import { makeAgentStore, makeRuleStore } from "../../stores/postgres/agents/agent-store.ts";
import { makeDecisionStore } from "../../stores/postgres/agents/decision-store.ts";
import { makeSkillStore } from "../../stores/postgres/agents/skill-store.ts";
import { makePermissionStore } from "../../stores/postgres/agents/permission-store.ts";
import { makeQuestionStore } from "../../stores/postgres/agents/question-store.ts";
import { makeAgentRunStore } from "../../stores/postgres/agents/agent-run-store.ts";
import { makeStepStore } from "../../stores/postgres/agents/step-store.ts";
import { makeBranchStore } from "../../stores/postgres/turns/branch-store.ts";
import { makeForkStore } from "../../stores/postgres/conversations/fork-store.ts";
import { makeSnapshotStore } from "../../stores/postgres/turns/snapshot-store.ts";
import { makeConversationStore } from "../../stores/postgres/conversations/conversation-store.ts";
import { makeMessageStore } from "../../stores/postgres/conversations/message-store.ts";
import { makeImportStore } from "../../stores/postgres/conversations/import-store.ts";
import { releaseDeadLeases } from "../../stores/postgres/turns/recover-turn.ts";
import { makePictureStore } from "../../stores/postgres/conversations/picture-store.ts";
import { makeTurnRecordStore } from "../../stores/postgres/turns/turn-record-store.ts";
import { makeWindowStore } from "../../stores/postgres/turns/window-store.ts";
import { watchedDatabase } from "../../stores/postgres/database/database-decorators.ts";
import type { Database } from "../../stores/postgres/database/database.ts";
import { migrate } from "../../stores/postgres/database/migrate.ts";
import { openEmbeddedPostgres } from "../../stores/postgres/database/open-embedded-postgres.ts";
import { openPostgres } from "../../stores/postgres/database/open-postgres.ts";
import { makeChunkStore } from "../../stores/postgres/knowledge/chunk-store.ts";
import { makeDocumentStore } from "../../stores/postgres/knowledge/document-store.ts";
import { makeKnowledgeBaseStore } from "../../stores/postgres/knowledge/knowledge-base-store.ts";
import { makeCoreMemoryStore } from "../../stores/postgres/memory/core-memory-store.ts";
import { makeOperationStore } from "../../stores/postgres/memory/operation-store.ts";
import { makeSummaryStore } from "../../stores/postgres/memory/summary-store.ts";
import { makeUsageStore } from "../../stores/postgres/usage/usage-store.ts";
import type { Config } from "../settings/config.ts";

/** Throws AppError `invalid_configuration` when it cannot be opened. */
export function openDatabase(config: Pick<Config, "DATABASE_URL" | "DATA_DIR">): Promise<Database> {
  if (config.DATABASE_URL !== undefined) return openPostgres(config.DATABASE_URL);
  return openEmbeddedPostgres(config.DATA_DIR);
}

/** Whoever calls closes it. */
export async function openStores(config: Config, observer: Observer) {
  const database = watchedDatabase(await openDatabase(config), observer);
  try {
    await migrate(database);
    if (database.isEmbedded) await releaseDeadLeases(database); // its folder is locked: its former process is dead
  } catch (error) {
    await database.close();
    throw error;
  }
  return {
    database,
    conversations: makeConversationStore(database),
    messages: makeMessageStore(database),
    pictures: makePictureStore(database),
    branches: makeBranchStore(database),
    forks: makeForkStore(database),
    snapshots: makeSnapshotStore(database),
    windows: makeWindowStore(database),
    imports: makeImportStore(database),
    turns: makeTurnRecordStore(database),
    summaries: makeSummaryStore(database),
    coreMemory: makeCoreMemoryStore(database),
    operations: makeOperationStore(database),
    knowledgeBases: makeKnowledgeBaseStore(database),
    documents: makeDocumentStore(database),
    chunks: makeChunkStore(database),
    agents: makeAgentStore(database),
    rules: makeRuleStore(database),
    skills: makeSkillStore(database),
    steps: makeStepStore(database),
    agentRuns: makeAgentRunStore(database),
    usage: makeUsageStore(database),
    questions: makeQuestionStore(database),
    permissions: makePermissionStore(database),
    decisions: makeDecisionStore(database),
    jobs: makeJobOverview(database),
  };
}

export type Stores = Awaited<ReturnType<typeof openStores>>;
