import { type Database, type Queryable, queryRow } from "../database/database.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import { ownedValues } from "../database/sql-parts.ts";

export interface MemoryToArchive {
  id: string;
  /** The user's messages, newest last; at least one. */
  triggerMessageIds: readonly string[];
  content: string;
  episodeType: string;
  importance: number;
}

export interface UnindexedMemory extends Omit<MemoryToArchive, "triggerMessageIds"> {
  createdAt: Date;
}

export interface MemoryCorrection extends Omit<MemoryToArchive, "content"> {
  /** The text when the change was decided. */
  before: string;
  /** Null deletes it. */
  content: string | null;
}

export interface ArchiveStore {
  readUnindexed(conversation: OwnedConversation, indexName: string, limit: number): Promise<UnindexedMemory[]>;
  /** Records that an index has these, unless they were corrected meanwhile; returns those that still exist. */
  markIndexed(conversation: OwnedConversation, indexName: string, memories: readonly UnindexedMemory[]): Promise<string[]>;
}

const ARCHIVED = `
select archived_memories.id, content, episode_type as "episodeType", importance, archived_memories.created_at as "createdAt"
from archived_memories join conversations on conversations.id = conversation_id
where conversations.id = $1 and tenant_id = $2 and user_id = $3 and not index_names @> array[$4::text]
order by archived_memories.created_at, archived_memories.id limit $5`;

const MARK_ARCHIVED = `
update archived_memories
set index_names = array_remove(index_names, $4) || case when (archived_memories.content, archived_memories.episode_type, archived_memories.importance)
  = (read.content, read."episodeType", read.importance) then array[$4] else '{}' end
from conversations, jsonb_to_recordset($5::jsonb) as read (id uuid, content text, "episodeType" text, importance double precision)
where conversations.id = conversation_id and conversations.id = $1 and tenant_id = $2 and user_id = $3
  and archived_memories.id = read.id
returning archived_memories.id`;

export function makeArchiveStore(database: Database): ArchiveStore {
  return {
    readUnindexed: (conversation, indexName, limit) =>
      database.query<UnindexedMemory>({
        name: "episode-archived",
        text: ARCHIVED,
        values: [...ownedValues(conversation), indexName, limit],
      }),

    async markIndexed(conversation, indexName, memories) {
      const rows = await database.query<{ id: string }>({
        name: "episode-mark-archived",
        text: MARK_ARCHIVED,
        values: [...ownedValues(conversation), indexName, JSON.stringify(memories)],
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

/** Returns the contents of new ones. Needs the conversation's lock. */
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

/** Merges a memory that becomes equal to another of its conversation. */
const CORRECT = `
with given as (
  select * from jsonb_to_recordset($3::jsonb) as given (id uuid, before text, content text, "episodeType" text, importance double precision,
    "triggerMessageIds" uuid[])
), found as materialized (
  select archived.id, archived.conversation_id, given.content, given."episodeType", given.importance, given."triggerMessageIds",
    array(select distinct unnest(coalesce(archived.trigger_message_ids, array[archived.trigger_message_id]) || given."triggerMessageIds")) as sources,
    (select same.id from archived_memories same
      where same.conversation_id = archived.conversation_id and md5(same.content) = md5(given.content) and same.id <> archived.id) as same_id
  from given join archived_memories archived on archived.id = given.id and archived.content = given.before
  join conversations on conversations.id = archived.conversation_id
  where tenant_id = $1 and user_id = $2
  for update of archived
), removed as (
  delete from archived_memories using found where archived_memories.id = found.id and (found.content is null or same_id is not null)
  returning archived_memories.id
), joined as (
  update archived_memories set repeated_in = array(select distinct unnest(repeated_in || sources)) from found where archived_memories.id = same_id
), changed as (
  update archived_memories set content = found.content, episode_type = found."episodeType", importance = found.importance, trigger_message_ids = sources,
    trigger_message_id = found."triggerMessageIds"[array_length(found."triggerMessageIds", 1)], index_names = '{}', corrected_at = clock_timestamp()
  from found where archived_memories.id = found.id and found.content is not null and same_id is null
  returning archived_memories.conversation_id
)
select (select count(*) from found)::int as found, array(select id from removed) as removed, array(select distinct conversation_id from changed) as changed`;

/** What the index has to follow. */
export interface CorrectedMemories {
  /** Ids that are gone. */
  removed: string[];
  /** Conversations of changed ones. */
  changed: string[];
}

/** Null, and the transaction must be rolled back, when one has changed since it was read. Needs the owner's lock. */
export async function correctMemories(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  corrections: readonly MemoryCorrection[],
): Promise<CorrectedMemories | null> {
  if (corrections.length === 0) return { removed: [], changed: [] };
  const statement = { name: "unread-correct", text: CORRECT, values: [tenantId, userId, JSON.stringify(corrections)] };
  const { found, ...corrected } = await queryRow<CorrectedMemories & { found: number }>(transaction, statement);
  return found === corrections.length ? corrected : null;
}
