import type { Database, Queryable } from "../database/database.ts";
import type { OwnedConversation } from "../../owner.ts";
import { ownedValues } from "../database/sql-parts.ts";

export interface MemoryToArchive {
  id: string;
  /** Of the user, newest last; at least one. */
  triggerMessageIds: readonly string[];
  content: string;
  episodeType: string;
  importance: number;
}

/** An archived memory that an index lacks. */
export interface UnindexedMemory extends Omit<MemoryToArchive, "triggerMessageIds"> {
  createdAt: Date;
}

export interface ArchiveStore {
  /** The oldest that an index lacks. */
  readUnindexed(conversation: OwnedConversation, indexName: string, limit: number): Promise<UnindexedMemory[]>;
  /** Records that an index has these; returns those that still exist. */
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
  return {
    readUnindexed: (conversation, indexName, limit) =>
      database.query<UnindexedMemory>({
        name: "episode-archived",
        text: ARCHIVED,
        values: [...ownedValues(conversation), indexName, limit],
      }),

    async markIndexed(conversation, indexName, ids) {
      const rows = await database.query<{ id: string }>({
        name: "episode-mark-archived",
        text: MARK_ARCHIVED,
        values: [...ownedValues(conversation), indexName, ids],
      });
      return rows.map(({ id }) => id);
    },
  };
}

const ARCHIVE = `
insert into archived_memories as existing (id, conversation_id, trigger_message_id, trigger_message_ids, content, episode_type, importance, created_at)
select id, $1, "triggerMessageIds"[array_length("triggerMessageIds", 1)], "triggerMessageIds", content, "episodeType", importance, clock_timestamp()
from jsonb_to_recordset($2::jsonb) as given (id uuid, "triggerMessageIds" uuid[], content text, "episodeType" text, importance double precision)
on conflict (conversation_id, md5(content)) do update
set repeated_in = array(select distinct unnest(existing.repeated_in || excluded.trigger_message_ids))
returning content, id = any($3) as "isNew"`;

/** Returns the contents of those that are new. The transaction has locked the conversation. */
export async function archiveMemories(
  transaction: Queryable,
  { conversationId }: OwnedConversation,
  memories: readonly MemoryToArchive[],
): Promise<Set<string | null>> {
  if (memories.length === 0) return new Set();
  const rows = await transaction.query<{ content: string; isNew: boolean }>({
    name: "unread-archive",
    text: ARCHIVE,
    values: [conversationId, JSON.stringify(memories), memories.map(({ id }) => id)],
  });
  return new Set(rows.filter(({ isNew }) => isNew).map(({ content }) => content));
}
