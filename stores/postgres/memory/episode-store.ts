import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import type { DoneCondition } from "../../jobs/job-queue.ts";
import type { Cursor } from "../../page.ts";
import { type Database, type Queryable, queryRow } from "../database/database.ts";
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
import { saidBy } from "../conversations/said-by.ts";
import { LOCK_CONVERSATION, lockConversation } from "../paths/locks.ts";
import { ERASED_TENANT } from "../conversations/erase-markers.ts";
import { isForeignKeyViolation } from "../database/storage-errors.ts";
import { readGathered } from "../database/gathered-reads.ts";
import { QUEUE } from "../database/pg-boss.ts";
import { MIN_UUID, OWNED_ID, ownedValues, placeOrStart } from "../database/sql-parts.ts";

export interface IndexProgress {
  indexedThrough: Cursor;
  lastEpisodeId: string | null;
}

export interface IndexBacklog {
  progress: IndexProgress | null;
  /** Oldest first. */
  messages: ReadMessage[];
  /** The exchange before them, on whichever branch. */
  previous: { id: string; branchId: string | null } | null;
  /** The last answers before them, to recognise repetitions. */
  earlierAnswers: string[];
  importedCount: number;
  hasArchived: boolean;
}

export interface Recallable {
  /** Other conversations have episodes. */
  elsewhere: boolean;
  isSummarised: boolean;
  /** Other conversations whose last exchanges wait to be indexed. */
  waiting: string[];
}

export interface EpisodeStore {
  /** The progress of an index and the oldest completed messages behind it, as of one moment. */
  readBacklog(conversation: OwnedConversation, indexName: string, limit: number): Promise<IndexBacklog>;
  /**
   * Moves the cursor on, or back if it had passed imported messages. False when it has changed since it was read, or messages were
   * imported.
   */
  advance(
    conversation: OwnedConversation,
    indexName: string,
    read: Pick<IndexBacklog, "progress" | "importedCount">,
    progress: IndexProgress,
  ): Promise<boolean>;
  /** Whether the current index lacks something; null when the conversation is gone. Locks the conversation. */
  lockAndCheck(transaction: Queryable, conversation: OwnedConversation): Promise<boolean | null>;
  /** The current index lacks nothing. Locks the conversation. */
  whenIndexed(conversation: OwnedConversation): DoneCondition;
  /** Conversations of all owners that an index lacks something of, by id, after `after`. */
  listUnindexed(indexName: string, after: string, limit: number): Promise<OwnedConversation[]>;
  isUnindexed(conversation: OwnedConversation, indexName: string): Promise<boolean>;
  countExchanges(): Promise<number>;
  /** The ids of exchanges that still exist. Pairs as for `load`. */
  listStored(conversation: OwnedConversation, pairs: readonly (readonly [string, string])[]): Promise<string[]>;
  checkRecallable(owner: Owner, sessionId: string): Promise<Recallable>;
  /** Conversations whose last exchanges wait to be indexed. */
  listWaiting(owner: Owner): Promise<string[]>;
  /** See `loadEpisodeTexts`. */
  load(owner: Owner, pairs: readonly (readonly [string, string])[], besides?: number): Promise<EpisodeText[]>;
}

const EARLIER_ANSWERS = 20;

const BACKLOG = `
with conversation as materialized (
  select id, imported_count from conversations where id = $1 and tenant_id = $2 and user_id = $3
), progress as materialized (
  select indexed_through_created_at, indexed_through_message_id, last_episode_id from episode_cursors
  where conversation_id = (select id from conversation) and index_name = $4
), place (created_at, id) as materialized (
  select * from (values ${placeOrStart("(select indexed_through_created_at from progress)", "(select indexed_through_message_id from progress)")}) start
)
select
  (select json_build_object('lastEpisodeId', last_episode_id,
    'indexedThrough', json_build_object('createdAt', indexed_through_created_at, 'id', indexed_through_message_id)) from progress) as progress,
  coalesce((select imported_count from conversation), 0) as "importedCount",
  exists (select from archived_memories where conversation_id = (select id from conversation) and not index_names @> array[$4::text]) as "hasArchived",
  (select json_build_object('id', ${exchangeIdSql("before")}, 'branchId', before.branch_id) from messages before
    where conversation_id = (select id from conversation) and completed and ${isAnchorSql("before")}
      and (created_at, id) <= ((select created_at from place), (select id from place))
    order by created_at desc, id desc limit 1) as previous,
  array(select content from messages where conversation_id = (select id from conversation) and completed and role = 'assistant'
      and (created_at, id) <= ((select created_at from place), (select id from place))
    order by created_at desc, id desc limit ${EARLIER_ANSWERS}) as "earlierAnswers",
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

const REWIND = `
update episode_cursors set indexed_through_created_at = coalesce($5::timestamptz, '0001-01-01'), indexed_through_message_id = coalesce($6::uuid, ${MIN_UUID})
from conversations
where conversations.id = conversation_id and conversation_id = $1 and tenant_id = $2 and user_id = $3 and index_name = $4 and imported_count <> $7
  and (indexed_through_created_at, indexed_through_message_id) > ${placeOrStart("$5::timestamptz", "$6::uuid")}`;

const LOOK = "select has_unindexed_episodes($1) as more";

const WHEN_INDEXED = `
with locked as materialized (${LOCK_CONVERSATION}), looked as materialized (select has_unindexed_episodes(id) as more from locked)
select from looked where not more`;

const LIST_UNINDEXED = `
select id as "conversationId", tenant_id as "tenantId", user_id as "userId" from conversations
where id > $2 and tenant_id <> '${ERASED_TENANT}' and has_unindexed_episodes(id, $1)
order by id limit $3`;

const STORED = `
select asked_id as id from unnest($4::uuid[], $5::uuid[]) as written (asked_id, answer_id)
where exists (
    select from messages where id = asked_id and conversation_id = ${OWNED_ID}
      and (asked_id <> answer_id or role = 'user' or ${isLiveSql("messages")} or partner_id is null)
  )
  and exists (select from messages where id = answer_id and conversation_id = ${OWNED_ID})`;

/** Jobs wait for further turns no longer than this. */
const LATEST = "interval '10 seconds'";
const MOST_WAITING = 4;

/** SQL: an array of ids. It reads the latest jobs of all users by pg-boss' index of jobs to fetch; a search may have indexed some. */
const waitingSql = (tenant: string, user: string, condition = "true"): string => `array(
  select conversations.id from pgboss.job join conversations on conversations.id = (data->>'conversationId')::uuid
  where name = '${QUEUE}' and priority = 0 and created_on > pgboss.job_now() - ${LATEST} and state < 'active' and not blocked
    and data->>'kind' = 'index_episodes' and tenant_id = ${tenant} and user_id = ${user} and ${condition}
    and has_unindexed_episodes(conversations.id)
  order by created_on desc limit ${MOST_WAITING}
)`;

const lookBefore = (tenant: string, user: string, session: string): string => `json_build_object('elsewhere', exists (
  select from conversations join episode_cursors on conversation_id = conversations.id and last_episode_id is not null
  where tenant_id = ${tenant} and user_id = ${user} and session_id <> ${session}
), 'isSummarised', exists (
  select from conversations join conversation_summaries on conversation_id = conversations.id
  where tenant_id = ${tenant} and user_id = ${user} and session_id = ${session}
), 'waiting', ${waitingSql(tenant, user, `session_id <> ${session}`)})`;

export function makeEpisodeStore(database: Database): EpisodeStore {
  return {
    async readBacklog(conversation, indexName, limit) {
      const values = [...ownedValues(conversation), indexName, limit];
      const statement = { name: "episode-backlog", text: BACKLOG, values };
      const row = await queryRow<Omit<IndexBacklog, "messages"> & { messages: MessageRow[] }>(database, statement);
      const { progress, messages, earlierAnswers, ...rest } = row;
      const at = progress?.indexedThrough;
      return {
        ...rest,
        earlierAnswers: earlierAnswers.map((content) => saidBy("assistant", content)),
        progress: progress && at ? { ...progress, indexedThrough: { ...at, createdAt: new Date(at.createdAt) } } : null,
        messages: messages.map(toReadMessage),
      };
    },

    async advance(conversation, indexName, { progress: read, importedCount }, { indexedThrough, lastEpisodeId }) {
      const place = [read?.indexedThrough.createdAt ?? null, read?.indexedThrough.id ?? null];
      try {
        const ofIndex = [...ownedValues(conversation), indexName];
        const values = [...ofIndex, indexedThrough.createdAt, indexedThrough.id, lastEpisodeId, ...place, importedCount];
        const moved = await database.query({ name: "episode-advance", text: ADVANCE, values });
        if (moved.length === 1) return true;
        await database.query({ name: "episode-go-back", text: REWIND, values: [...ofIndex, ...place, importedCount] });
        return false;
      } catch (error) {
        if (isForeignKeyViolation(error)) return false; // the conversation was just deleted
        throw error;
      }
    },

    async lockAndCheck(transaction, conversation) {
      if (!(await lockConversation(transaction, conversation))) return null;
      const look = { name: "episode-look", text: LOOK, values: [conversation.conversationId] };
      return (await queryRow<{ more: boolean }>(transaction, look)).more;
    },

    whenIndexed: (conversation) => ({ name: "episode-settle", text: WHEN_INDEXED, values: ownedValues(conversation) }),

    listUnindexed: (indexName, after, limit) =>
      database.query<OwnedConversation>({ name: "episode-unindexed", text: LIST_UNINDEXED, values: [indexName, after, limit] }),

    async isUnindexed(conversation, indexName) {
      const [row] = await database.query<{ missing: boolean }>({
        name: "episode-is-unindexed",
        text: `select has_unindexed_episodes(id, $4) as missing from conversations where id = $1 and tenant_id = $2 and user_id = $3`,
        values: [...ownedValues(conversation), indexName],
      });
      return row?.missing ?? false;
    },

    async countExchanges() {
      const text = `select count(*)::int as count from messages where completed and ${isAnchorSql("messages")}`;
      return (await queryRow<{ count: number }>(database, { text })).count;
    },

    async listStored(conversation, pairs) {
      const values = [...ownedValues(conversation), pairs.map(([id]) => id), pairs.map(([, id]) => id)];
      return (await database.query<{ id: string }>({ name: "episode-stored", text: STORED, values })).map(({ id }) => id);
    },

    checkRecallable: ({ tenantId, userId }, sessionId) =>
      readGathered(database, {
        name: "episode-look-before",
        json: (place) => lookBefore(place(1), place(2), place(3)),
        values: [tenantId, userId, sessionId],
        toResult: (json) => json as Recallable,
      }),

    async listWaiting({ tenantId, userId }) {
      const statement = { name: "episode-waiting", text: `select ${waitingSql("$1", "$2")} as ids`, values: [tenantId, userId] };
      return (await queryRow<{ ids: string[] }>(database, statement)).ids;
    },

    load: (owner, pairs, besides) => loadEpisodeTexts(database, owner, pairs, besides),
  };
}
