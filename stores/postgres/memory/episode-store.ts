import type { OwnedConversation, Owner } from "../../owner.ts";
import type { Cursor } from "../../page.ts";
import type { Database, Queryable } from "../database/database.ts";
import { type EpisodeText, loadEpisodeTexts } from "./episode-texts.ts";
import {
  exchangeIdSql,
  isLiveSql,
  isAnchorSql,
  type MessageRow,
  messageRowsSql,
  type ReadMessage,
  toReadMessage,
} from "../conversations/exchanges.ts";
import { lockConversation } from "../conversations/locks.ts";
import { ERASED_TENANT } from "../erase/deferred-erase.ts";
import { isForeignKeyViolation } from "../database/storage-errors.ts";
import { MIN_UUID, OWNED_ID, ownedValues } from "../database/sql-parts.ts";

export interface IndexProgress {
  indexedThrough: Cursor;
  /** The last episode of the conversation. */
  lastEpisodeId: string | null;
}

export interface IndexBacklog {
  progress: IndexProgress | null;
  /** Oldest first. */
  messages: ReadMessage[];
  /** The exchange before these. */
  previousId: string | null;
  /** Messages imported so far. */
  importedCount: number;
}

/** What a turn may recall, as known before it begins. */
export interface Recallable {
  /** In other conversations than this session's. */
  elsewhere: boolean;
  /** The conversation is longer than its window: it has a summary. */
  isSummarised: boolean;
}

export interface EpisodeStore {
  /** The progress of an index in a conversation and the oldest completed messages behind it, from one snapshot. */
  readBacklog(conversation: OwnedConversation, indexName: string, limit: number): Promise<IndexBacklog>;
  /**
   * Moves the cursor on from what was read; false when it has changed, messages were imported since, or the conversation is gone. If others
   * moved it on after such an import, it goes back, so that these messages are indexed.
   */
  advance(
    conversation: OwnedConversation,
    indexName: string,
    read: Pick<IndexBacklog, "progress" | "importedCount">,
    progress: IndexProgress,
  ): Promise<boolean>;
  /** Whether the serving index lacks exchanges or archived memories; null when the conversation is gone. Locks the conversation. */
  lockAndCheck(transaction: Queryable, conversation: OwnedConversation): Promise<boolean | null>;
  /** Conversations of all owners that an index lacks something of, by id, behind `after`. */
  listUnindexed(indexName: string, after: string, limit: number): Promise<OwnedConversation[]>;
  isUnindexed(conversation: OwnedConversation, indexName: string): Promise<boolean>;
  /** Of all conversations. */
  countExchanges(): Promise<number>;
  /** Of these exchanges, the ids of the complete ones. Pairs are the ids of question and answer; a single message's id twice. */
  listStored(conversation: OwnedConversation, pairs: readonly (readonly [string, string])[]): Promise<string[]>;
  /** What a turn may recall; the session's conversation need not exist. */
  checkRecallable(owner: Owner, sessionId: string): Promise<Recallable>;
  /** See loadEpisodeTexts. */
  load(owner: Owner, pairs: readonly (readonly [string, string])[]): Promise<EpisodeText[]>;
}

const BACKLOG = `
with conversation as materialized (
  select id, imported_count from conversations where id = $1 and tenant_id = $2 and user_id = $3
), progress as materialized (
  select indexed_through_created_at, indexed_through_message_id, last_episode_id from episode_cursors
  where conversation_id = (select id from conversation) and index_name = $4
), place as materialized (
  select coalesce((select indexed_through_created_at from progress), '-infinity') as created_at,
    coalesce((select indexed_through_message_id from progress), ${MIN_UUID}) as id
)
select
  (select row_to_json(progress) from progress) as progress,
  (select imported_count from conversation) as imported_count,
  (select ${exchangeIdSql("before")} from messages before
    where conversation_id = (select id from conversation) and completed and ${isAnchorSql("before")}
      and (created_at, id) <= ((select created_at from place), (select id from place))
    order by created_at desc, id desc limit 1) as previous_id,
  ${messageRowsSql(`
    select *, false as is_known from messages
    where conversation_id = (select id from conversation) and completed
      and (created_at, id) > ((select created_at from place), (select id from place))
    order by created_at, id limit $5`)} as messages`;

const ADVANCE = `
insert into episode_cursors as existing (conversation_id, index_name, indexed_through_created_at, indexed_through_message_id, last_episode_id)
select id, $4, $5, $6, $7 from conversations where id = $1 and tenant_id = $2 and user_id = $3 and imported_count = $10 for share
on conflict (conversation_id, index_name) do update
set indexed_through_created_at = excluded.indexed_through_created_at,
    indexed_through_message_id = excluded.indexed_through_message_id,
    last_episode_id = excluded.last_episode_id
where (existing.indexed_through_created_at, existing.indexed_through_message_id) = ($8::timestamptz, $9::uuid)
returning conversation_id`;

/** For an indexer that was late. */
const REWIND = `
update episode_cursors set indexed_through_created_at = coalesce($5::timestamptz, '0001-01-01'), indexed_through_message_id = coalesce($6::uuid, ${MIN_UUID})
from conversations
where conversations.id = conversation_id and conversation_id = $1 and tenant_id = $2 and user_id = $3 and index_name = $4 and imported_count <> $7
  and (indexed_through_created_at, indexed_through_message_id) > (coalesce($5::timestamptz, '-infinity'), coalesce($6::uuid, ${MIN_UUID}))`;

const MISSING_IN = (conversation: string, index: string): string => `(exists (
  select from archived_memories where conversation_id = ${conversation} and not index_names @> array[${index}::text]
) or exists (
  select from messages
  where conversation_id = ${conversation} and completed and ${isAnchorSql("messages")}
    and (created_at, id) > (
      coalesce((select indexed_through_created_at from episode_cursors where conversation_id = ${conversation} and index_name = ${index}), '-infinity'),
      coalesce((select indexed_through_message_id from episode_cursors where conversation_id = ${conversation} and index_name = ${index}), ${MIN_UUID}))
))`;

const LOOK = `select ${MISSING_IN("$1", "(select name from search_indexes where kind = 'episodes' and state = 'current')")} as more`;

const LIST_UNINDEXED = `
select id as "conversationId", tenant_id as "tenantId", user_id as "userId" from conversations
where id > $2 and tenant_id <> '${ERASED_TENANT}' and ${MISSING_IN("conversations.id", "$1")}
order by id limit $3`;

const STORED = `
select asked_id as id from unnest($4::uuid[], $5::uuid[]) as written (asked_id, answer_id)
where exists (
    select from messages where id = asked_id and conversation_id = ${OWNED_ID}
      and (asked_id <> answer_id or role = 'user' or ${isLiveSql("messages")} or partner_id is null)
  )
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
  return {
    async readBacklog(conversation, indexName, limit) {
      const [row] = await database.query<{
        progress: ProgressRow | null;
        imported_count: number | null;
        previous_id: string | null;
        messages: MessageRow[];
      }>({ name: "episode-backlog", text: BACKLOG, values: [...ownedValues(conversation), indexName, limit] });
      return {
        progress: toProgress(row?.progress),
        messages: (row?.messages ?? []).map(toReadMessage),
        previousId: row?.previous_id ?? null,
        importedCount: row?.imported_count ?? 0,
      };
    },

    async advance(conversation, indexName, { progress: read, importedCount }, { indexedThrough, lastEpisodeId }) {
      const place = [read?.indexedThrough.createdAt ?? null, read?.indexedThrough.id ?? null];
      try {
        const rows = await database.query({
          name: "episode-advance",
          text: ADVANCE,
          values: [
            ...ownedValues(conversation),
            indexName,
            indexedThrough.createdAt,
            indexedThrough.id,
            lastEpisodeId,
            ...place,
            importedCount,
          ],
        });
        if (rows.length === 1) return true;
        const values = [...ownedValues(conversation), indexName, ...place, importedCount];
        await database.query({ name: "episode-go-back", text: REWIND, values });
        return false;
      } catch (error) {
        if (isForeignKeyViolation(error)) return false; // the conversation was just deleted
        throw error;
      }
    },

    async lockAndCheck(transaction, conversation) {
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
        values: [...ownedValues(conversation), indexName],
      });
      return row?.missing ?? false;
    },

    async countExchanges() {
      const text = `select count(*)::int as count from messages where completed and ${isAnchorSql("messages")}`;
      const [row] = await database.query<{ count: number }>({ text });
      return row?.count ?? 0;
    },

    async listStored(conversation, pairs) {
      const [asked, answers] = [pairs.map(([id]) => id), pairs.map(([, id]) => id)];
      const rows = await database.query<{ id: string }>({
        name: "episode-stored",
        text: STORED,
        values: [...ownedValues(conversation), asked, answers],
      });
      return rows.map(({ id }) => id);
    },

    async checkRecallable({ tenantId, userId }, sessionId) {
      const values = [tenantId, userId, sessionId];
      const [row] = await database.query<Recallable>({ name: "episode-look-before", text: LOOK_BEFORE, values });
      return row ?? { elsewhere: false, isSummarised: false };
    },

    load: (owner, pairs) => loadEpisodeTexts(database, owner, pairs),
  };
}
