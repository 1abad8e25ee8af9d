import { makeImportStore } from "../../../stores/postgres/conversations/import-store.ts";
import { makeBranchStore } from "../../../stores/postgres/turns/branch-store.ts";
import { makeConversationStore } from "../../../stores/postgres/conversations/conversation-store.ts";
import { makeMessageStore, type StoredMessage } from "../../../stores/postgres/conversations/message-store.ts";
import { makePictureStore } from "../../../stores/postgres/conversations/picture-store.ts";
import { makeTurnRecordStore } from "../../../stores/postgres/turns/turn-record-store.ts";
import type { AnswerToStore } from "../../../stores/postgres/turns/recover-turn.ts";
import { makeTurnStore } from "../../../stores/postgres/turns/turn-store.ts";
import type { BeginTurn } from "../../../stores/postgres/turns/recover-turn.ts";
import type { Database } from "../../../stores/postgres/database/database.ts";
import { makeEraseStore } from "../../../stores/postgres/erase/erase-store.ts";
import { makeCoreMemoryStore } from "../../../stores/postgres/memory/core-memory-store.ts";
import { makeEpisodeStore } from "../../../stores/postgres/memory/episode-store.ts";
import { makeUnreadStore } from "../../../stores/postgres/memory/unread-store.ts";
import { makeOperationStore } from "../../../stores/postgres/memory/operation-store.ts";
import { makeSummaryStore } from "../../../stores/postgres/memory/summary-store.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { beginFreely, completeTurn, sampleTurn } from "../samples/sample-turns.ts";
import { useOpened } from "../use-opened.ts";
import { describeOnBothDatabases } from "./databases.ts";

export type Stores = ReturnType<typeof storesOf>;

export function storesOf(database: Database) {
  const [conversations, messages, turns] = [makeConversationStore(database), makeMessageStore(database), makeTurnStore(database)];
  const messagesOf = async (conversation: OwnedConversation): Promise<StoredMessage[]> =>
    (await messages.list(conversation, { limit: 1_000, after: null })).items;
  return {
    database,
    branches: makeBranchStore(database),
    conversations,
    messages,
    coreMemory: makeCoreMemoryStore(database),
    episodes: makeEpisodeStore(database),
    erases: makeEraseStore(database),
    imports: makeImportStore(database),
    operations: makeOperationStore(database),
    pictures: makePictureStore(database),
    records: makeTurnRecordStore(database),
    summaries: makeSummaryStore(database),
    turns,
    unread: makeUnreadStore(database),
    begin: (fields?: Partial<BeginTurn>) => beginFreely(turns, sampleTurn(fields)),
    complete: (fields?: Partial<BeginTurn>, answer?: AnswerToStore | null) => completeTurn(turns, sampleTurn(fields), answer),
    messagesOf,
    contentsOf: async (conversation: OwnedConversation) => (await messagesOf(conversation)).map(({ content }) => content),
    messageCountOf: async ({ tenantId, conversationId }: Omit<OwnedConversation, "userId">) =>
      (await conversations.find({ tenantId, userId: null }, conversationId))?.messageCount,
    jobsOf: async (conversationId: string): Promise<{ kind: string }[]> => {
      const text = "select data from pgboss.job where data->>'conversationId' = $1 order by data->>'kind'";
      return (await database.query<{ data: { kind: string } }>({ text, values: [conversationId] })).map(({ data }) => data);
    },
  };
}

/** Runs the suite on the embedded and on a real Postgres, whose database is opened before and closed after its tests. */
export function describeStores(title: string, suite: (stores: Stores) => void): void {
  describeOnBothDatabases(title, (open) => suite(storesOf(useOpened(open))));
}
