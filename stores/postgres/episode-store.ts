import type { Owner } from "../owner.ts";
import type { Cursor } from "../page.ts";
import type { Database, Queryable } from "./database.ts";
import { loadEpisodeTexts, type EpisodeText } from "./episode-texts.ts";
import { lockConversation } from "./lock-conversation.ts";
import type { Role } from "./message-store.ts";
import { isForeignKeyViolation } from "./storage-error.ts";
import type { OwnedConversation } from "./summary-store.ts";

/** A completed message that the index has not seen. */
export interface UnindexedMessage extends Cursor {
  role: Role;
  content: string;
}

export interface IndexProgress {
  indexedThrough: Cursor;
  /** The last episode of the conversation, null when there is none yet. */
  lastEpisodeId: string | null;
}

export interface IndexBacklog {
  progress: IndexProgress | null;
  messages: UnindexedMessage[];
}

/** What a user has that may be worth a search, as far as can be said before the turn has begun. */
export interface EpisodeLook {
  /** The user has episodes in other conversations than this session's. */
  elsewhere: boolean;
  /** The session's conversation is longer than its window: it has a summary. */
  isSummarised: boolean;
}

export interface EpisodeStore {
  /** How far a conversation is indexed and the oldest `limit` completed messages behind that, read at one moment. */
  readBacklog(conversation: OwnedConversation, indexName: string, limit: number): Promise<IndexBacklog>;
  /** Moves on from the progress that was read; false when it is no longer that, or the conversation is gone. */
  advance(conversation: OwnedConversation, indexName: string, read: IndexProgress | null, progress: IndexProgress): Promise<boolean>;
  /**
   * Whether completed answers or archived memories are missing in the index that serves; null when the conversation is gone. Locks the conversation, as the end
   * of a turn does.
   */
  lockAndLook(transaction: Queryable, conversation: OwnedConversation): Promise<boolean | null>;
  /** Conversations, whoever's they are, with completed answers or archived memories that are missing in an index: the next `limit` behind `after`, by id. */
  listUnindexed(indexName: string, after: string, limit: number): Promise<OwnedConversation[]>;
  isUnindexed(conversation: OwnedConversation, indexName: string): Promise<boolean>;
  /** Completed answers of all conversations: about as many turns. */
  countTurns(): Promise<number>;
  /** Of these pairs of messages of a conversation, those of which both are still there, by the id of the first. */
  listStored(conversation: OwnedConversation, pairs: readonly (readonly [string, string])[]): Promise<string[]>;
  /** What there is to recall, before the session's conversation is known or even there. */
  look(owner: Owner, sessionId: string): Promise<EpisodeLook>;
  /** See loadEpisodeTexts. */
  load(owner: Owner, pairs: readonly (readonly [string, string])[]): Promise<EpisodeText[]>;
}

const OWNED_ID = "(select id from conversations where id = $1 and tenant_id = $2 and user_id = $3)";
const BEGINNING = "'00000000-0000-0000-0000-000000000000'";

const BACKLOG = `
with progress as materialized (
  select indexed_through_created_at, indexed_through_message_id, last_episode_id from episode_cursors
  where conversation_id = ${OWNED_ID} and index_name = $4
)
select
  (select row_to_json(progress) from progress) as progress,
  (select coalesce(json_agg(oldest), '[]') from (
    select id, role, content, created_at from messages
    where conversation_id = ${OWNED_ID} and completed
      and (created_at, id) > (
        coalesce((select indexed_through_created_at from progress), '-infinity'),
        coalesce((select indexed_through_message_id from progress), ${BEGINNING}))
    order by created_at, id limit $5
  ) oldest) as messages`;

const ADVANCE = `
insert into episode_cursors as kept (conversation_id, index_name, indexed_through_created_at, indexed_through_message_id, last_episode_id)
select id, $4, $5, $6, $7 from conversations where id = $1 and tenant_id = $2 and user_id = $3 for key share
on conflict (conversation_id, index_name) do update
set indexed_through_created_at = excluded.indexed_through_created_at,
    indexed_through_message_id = excluded.indexed_through_message_id,
    last_episode_id = excluded.last_episode_id
where (kept.indexed_through_created_at, kept.indexed_through_message_id) = ($8::timestamptz, $9::uuid)
returning conversation_id`;

const MISSING_IN = (conversation: string, index: string): string => `(exists (
  select from archived_memories where conversation_id = ${conversation} and not index_names @> array[${index}::text]
) or exists (
  select from messages
  where conversation_id = ${conversation} and completed and role = 'assistant'
    and (created_at, id) > (
      coalesce((select indexed_through_created_at from episode_cursors where conversation_id = ${conversation} and index_name = ${index}), '-infinity'),
      coalesce((select indexed_through_message_id from episode_cursors where conversation_id = ${conversation} and index_name = ${index}), ${BEGINNING}))
))`;

const LOOK = `select ${MISSING_IN("$1", "(select name from search_indexes where kind = 'episodes' and state = 'current')")} as more`;

const LIST_UNINDEXED = `
select id as "conversationId", tenant_id as "tenantId", user_id as "userId" from conversations
where id > $2 and ${MISSING_IN("conversations.id", "$1")}
order by id limit $3`;

const STORED = `
select asked_id as id from unnest($4::uuid[], $5::uuid[]) as written (asked_id, answer_id)
where exists (select from messages where id = asked_id and conversation_id = ${OWNED_ID})
  and exists (select from messages where id = answer_id and conversation_id = ${OWNED_ID})`;

const LOOK_BEFORE = `
select exists (
  select from conversations join episode_cursors on conversation_id = conversations.id and last_episode_id is not null
  where tenant_id = $1 and user_id = $2 and session_id <> $3
) as elsewhere, exists (
  select from conversations join conversation_summaries on conversation_id = conversations.id
  where tenant_id = $1 and user_id = $2 and session_id = $3
) as "isSummarised"`;

interface ProgressRow {
  indexed_through_created_at: string;
  indexed_through_message_id: string;
  last_episode_id: string | null;
}

function toProgress(row: ProgressRow | null | undefined): IndexProgress | null {
  if (!row) return null;
  return {
    indexedThrough: { createdAt: new Date(row.indexed_through_created_at), id: row.indexed_through_message_id },
    lastEpisodeId: row.last_episode_id,
  };
}

export function makeEpisodeStore(database: Database): EpisodeStore {
  const owned = ({ conversationId, tenantId, userId }: OwnedConversation): [string, string, string] => [conversationId, tenantId, userId];
  return {
    async readBacklog(conversation, indexName, limit) {
      const [row] = await database.query<{
        progress: ProgressRow | null;
        messages: { id: string; role: Role; content: string; created_at: string }[];
      }>({ name: "episode-backlog", text: BACKLOG, values: [...owned(conversation), indexName, limit] });
      const messages = (row?.messages ?? []).map(({ id, role, content, created_at }) => {
        return { id, role, content, createdAt: new Date(created_at) };
      });
      return { progress: toProgress(row?.progress), messages };
    },

    async advance(conversation, indexName, read, { indexedThrough, lastEpisodeId }) {
      try {
        const rows = await database.query({
          name: "episode-advance",
          text: ADVANCE,
          values: [
            ...owned(conversation),
            indexName,
            indexedThrough.createdAt,
            indexedThrough.id,
            lastEpisodeId,
            read?.indexedThrough.createdAt ?? null,
            read?.indexedThrough.id ?? null,
          ],
        });
        return rows.length === 1;
      } catch (error) {
        if (isForeignKeyViolation(error)) return false; // the conversation was deleted this moment
        throw error;
      }
    },

    async lockAndLook(transaction, conversation) {
      if (!(await lockConversation(transaction, conversation))) return null;
      const [row] = await transaction.query<{ more: boolean }>({
        name: "episode-look",
        text: LOOK,
        values: [conversation.conversationId],
      });
      return row?.more ?? false;
    },

    listUnindexed: (indexName, after, limit) =>
      database.query<OwnedConversation>({ name: "episode-unindexed", text: LIST_UNINDEXED, values: [indexName, after, limit] }),

    async isUnindexed(conversation, indexName) {
      const [row] = await database.query<{ missing: boolean }>({
        name: "episode-is-unindexed",
        text: `select ${MISSING_IN("conversations.id", "$4")} as missing from conversations where id = $1 and tenant_id = $2 and user_id = $3`,
        values: [...owned(conversation), indexName],
      });
      return row?.missing ?? false;
    },

    async countTurns() {
      const [row] = await database.query<{ count: number }>({
        text: "select count(*)::int as count from messages where role = 'assistant' and completed",
      });
      return row?.count ?? 0;
    },

    async listStored(conversation, pairs) {
      const [asked, answers] = [pairs.map(([id]) => id), pairs.map(([, id]) => id)];
      const rows = await database.query<{ id: string }>({
        name: "episode-stored",
        text: STORED,
        values: [...owned(conversation), asked, answers],
      });
      return rows.map(({ id }) => id);
    },

    async look({ tenantId, userId }, sessionId) {
      const values = [tenantId, userId, sessionId];
      const [row] = await database.query<EpisodeLook>({ name: "episode-look-before", text: LOOK_BEFORE, values });
      return row ?? { elsewhere: false, isSummarised: false };
    },

    load: (owner, pairs) => loadEpisodeTexts(database, owner, pairs),
  };
}
