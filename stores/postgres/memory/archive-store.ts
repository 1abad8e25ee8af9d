import type { Database } from "../database/database.ts";
import type { OwnedConversation } from "./summary-store.ts";

/** A memory that was archived and that an index has not seen. */
export interface UnindexedMemory {
  id: string;
  content: string;
  episodeType: string;
  importance: number;
  createdAt: Date;
}

/** What the memory agent archived, as the index is made from it. */
export interface ArchiveStore {
  /** The oldest `limit` archived memories of a conversation that an index has not seen. */
  readUnindexed(conversation: OwnedConversation, indexName: string, limit: number): Promise<UnindexedMemory[]>;
  /** Says that an index has these; returns those that are still there. */
  markIndexed(conversation: OwnedConversation, indexName: string, ids: readonly string[]): Promise<string[]>;
}

const ARCHIVED = `
select archived_memories.id, content, episode_type as "episodeType", importance, archived_memories.created_at as "createdAt"
from archived_memories join conversations on conversations.id = conversation_id
where conversations.id = $1 and tenant_id = $2 and user_id = $3 and not index_names @> array[$4::text]
order by archived_memories.created_at, archived_memories.id limit $5`;

const MARK_ARCHIVED = `
update archived_memories set index_names = array_append(array_remove(index_names, $4), $4)
from conversations
where conversations.id = conversation_id and conversations.id = $1 and tenant_id = $2 and user_id = $3
  and archived_memories.id = any($5)
returning archived_memories.id`;

export function makeArchiveStore(database: Database): ArchiveStore {
  const owned = ({ conversationId, tenantId, userId }: OwnedConversation): [string, string, string] => [conversationId, tenantId, userId];
  return {
    readUnindexed: (conversation, indexName, limit) =>
      database.query<UnindexedMemory>({ name: "episode-archived", text: ARCHIVED, values: [...owned(conversation), indexName, limit] }),

    async markIndexed(conversation, indexName, ids) {
      const rows = await database.query<{ id: string }>({
        name: "episode-mark-archived",
        text: MARK_ARCHIVED,
        values: [...owned(conversation), indexName, ids],
      });
      return rows.map(({ id }) => id);
    },
  };
}
