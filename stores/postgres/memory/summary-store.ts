import { SATURATED } from "../../../models/facts/prompt-budget.ts";
import type { SummaryParts } from "../../../turn/summary-parts.ts";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import type { Cursor } from "../../page.ts";
import { PROMPT_MESSAGE, type PromptMessage, toPromptMessage } from "../conversations/message-store.ts";
import { beginningSql } from "../conversations/conversation-store.ts";
import { messagesOfPathSql, pathOf, unknownLimit } from "../paths/branch-path.ts";
import { summaryWithoutThought } from "../conversations/said-by.ts";
import { isOfPathSql, NEXT_VERSION, VERSION_COLUMNS } from "../paths/summary-of-path.ts";
import { lockConversation } from "../paths/locks.ts";
import { type Database, type Queryable, queryRow } from "../database/database.ts";
import { OWNED_ID, ownedValues, placeOrStart } from "../database/sql-parts.ts";
import { isForeignKeyViolation } from "../database/storage-errors.ts";

/** One version of a conversation's running summary. */
export interface StoredSummary {
  text: string;
  /** From 1, one more with each save. */
  version: number;
  /** The cover point: it covers every completed message up to here. */
  coveredThrough: Cursor;
  coveredMessageCount: number;
  /** Estimated. */
  tokenCount: number;
  /** Eight parts, or null. */
  parts: SummaryParts | null;
  updatedAt: Date;
}

/** A summary that replaces the version that was read (0 for none). */
export interface SummaryToSave {
  readVersion: number;
  text: string;
  tokenCount: number;
  /** Default: none. */
  parts?: SummaryParts | null;
  coveredThrough: Cursor;
  /** Messages it covers beyond the version that was read. */
  addedMessageCount: number;
  /** As read with the messages. */
  rewrites: number;
}

export interface SummaryBacklog {
  summary: StoredSummary | null;
  messages: PromptMessage[];
  /** Counts erases and imports. */
  rewrites: number;
  /** The conversation's last prompt was almost full. */
  isSaturated: boolean;
}

export interface ListedSummary {
  conversationId: string;
  title: string | null;
  firstAsked: string | null;
  updatedAt: Date;
}

/** Reads and writes summaries. */
export interface SummaryStore {
  find(conversation: OwnedConversation): Promise<StoredSummary | null>;
  /** Null when the version is not stored. */
  findVersion(conversation: OwnedConversation, version: number): Promise<StoredSummary | null>;
  latest(owner: Owner, limit: number): Promise<ListedSummary[]>;
  readBacklog(conversation: OwnedConversation, limit: number): Promise<SummaryBacklog>;
  /** False when version or `rewrites` have changed since, or the cover point would not move forward. */
  save(conversation: OwnedConversation, summary: SummaryToSave): Promise<boolean>;
  /** Counts uncovered completed messages, up to `atMost`; null when the conversation is gone. Locks the conversation. */
  lockAndCount(
    transaction: Queryable,
    conversation: OwnedConversation,
    atMost: number,
  ): Promise<{ hasSummary: boolean; uncovered: number; isSaturated: boolean } | null>;
  /**
   * Makes an earlier version, with its cover point, the newest again; later messages are in the window until they are summarised. Null: the
   * version is not kept.
   */
  revert(conversation: OwnedConversation, version: number): Promise<StoredSummary | null>;
}

export type SummaryJson = Omit<StoredSummary, "coveredThrough" | "updatedAt"> & {
  coveredThrough: { createdAt: string; id: string };
  updatedAt: string;
};

export const summaryJson = (row: string): string => `json_build_object(
  'text', ${row}.summary, 'version', ${row}.summary_version, 'coveredMessageCount', ${row}.covered_message_count,
  'coveredThrough', json_build_object('createdAt', ${row}.covered_through_created_at, 'id', ${row}.covered_through_message_id),
  'tokenCount', ${row}.token_count, 'parts', ${row}.parts, 'updatedAt', ${row}.updated_at)`;

export function toSummary({ text, coveredThrough: { createdAt, id }, updatedAt, ...summary }: SummaryJson): StoredSummary {
  const coveredThrough = { createdAt: new Date(createdAt), id };
  return { ...summary, text: summaryWithoutThought(text), coveredThrough, updatedAt: new Date(updatedAt) };
}

const OF_OWNER = "join conversations on conversations.id = conversation_id where conversation_id = $1 and tenant_id = $2 and user_id = $3";

export const SUMMARY_OF = `select conversation_summaries.* from conversation_summaries ${OF_OWNER}`;

/** SQL: whether a message is after the cover point of the summary in this table, or there is no summary. */
export const behindSummary = (table: string): string =>
  `(created_at, id) > ${placeOrStart(`(select covered_through_created_at from ${table})`, `(select covered_through_message_id from ${table})`)}`;

const FIND = `select ${summaryJson("conversation_summaries")} as summary from conversation_summaries ${OF_OWNER} and summary <> ''`;

const FIND_VERSION = `
select ${summaryJson("conversation_summary_versions")} as summary from conversation_summary_versions ${OF_OWNER} and summary_version = $4`;

const LATEST = `
select conversation_id as "conversationId", title, conversation_summaries.updated_at as "updatedAt",
  ${beginningSql("asc", "role = 'user'")} as "firstAsked"
from conversation_summaries join conversations on conversations.id = conversation_id
where tenant_id = $1 and user_id = $2 and summary <> ''
order by conversation_summaries.updated_at desc, conversation_id limit $3`;

const IS_SATURATED = `(last_prompt->>'tokens')::numeric >= ${SATURATED} * (last_prompt->>'limit')::numeric`;

const BACKLOG = `
with current_summary as materialized (${SUMMARY_OF})
select
  (select ${summaryJson("current_summary")} from current_summary) as summary,
  coalesce((select rewrites from conversations where id = ${OWNED_ID}), 0) as rewrites,
  coalesce((select ${IS_SATURATED} from conversations where id = ${OWNED_ID}), false) as "isSaturated",
  (select coalesce(json_agg(oldest), '[]') from (${messagesOfPathSql({
    columns: PROMPT_MESSAGE,
    conversationId: OWNED_ID,
    path: pathOf("$1"),
    where: `completed and ${behindSummary("current_summary")}`,
    order: "asc",
    limit: unknownLimit("$4"),
  })}) oldest) as messages`;

type BacklogRow = Omit<SummaryBacklog, "summary"> & { summary: SummaryJson | null };

const VERSIONS_KEPT = 20;

/** The branch of the covered message. Every path with the message can take the version. */
const BRANCH_OF_COVERED = `(
  select case when messages.conversation_id = conversations.id then branch_id else coalesce(branch_id, messages.conversation_id) end
  from messages where messages.id = $7::uuid)`;

const SAVE = `
with saved as (
insert into conversation_summaries as existing (${VERSION_COLUMNS}, created_at)
select id, $4 + 1, $5, $6, $7, $8, $9, clock_timestamp(), $11::jsonb, ${BRANCH_OF_COVERED}, clock_timestamp() from conversations
where id = $1 and tenant_id = $2 and user_id = $3 and rewrites = $10
  and ($4 = 0 or exists (select from conversation_summaries where conversation_id = $1))
for share of conversations
on conflict (conversation_id) do update
set summary = excluded.summary,
    summary_version = ${NEXT_VERSION("existing")},
    covered_through_created_at = excluded.covered_through_created_at,
    covered_through_message_id = excluded.covered_through_message_id,
    covered_message_count = existing.covered_message_count + excluded.covered_message_count,
    token_count = excluded.token_count,
    parts = excluded.parts,
    branch_id = excluded.branch_id,
    updated_at = excluded.updated_at
where existing.summary_version = $4
  and (existing.covered_through_created_at, existing.covered_through_message_id)
    < (excluded.covered_through_created_at, excluded.covered_through_message_id)
returning ${VERSION_COLUMNS}
), dropped as (
  delete from conversation_summary_versions kept using saved
  where kept.conversation_id = $1 and kept.branch_id is not distinct from saved.branch_id and kept.summary_version <= saved.summary_version - ${VERSIONS_KEPT}
)
insert into conversation_summary_versions (${VERSION_COLUMNS}) select ${VERSION_COLUMNS} from saved
returning summary_version`;

/** The version is one more than the present one, so a summary in the making is not saved. Versions of other paths are not there. */
const REVERT = `
with kept as (
  select versions.* from conversation_summary_versions versions ${OF_OWNER} and summary_version = $4 and ${isOfPathSql("versions", "conversations.path")}
), reverted as (
  update conversation_summaries as present
  set summary = kept.summary, summary_version = ${NEXT_VERSION("present")}, covered_through_created_at = kept.covered_through_created_at,
    covered_through_message_id = kept.covered_through_message_id, covered_message_count = kept.covered_message_count,
    token_count = kept.token_count, parts = kept.parts, branch_id = kept.branch_id, updated_at = clock_timestamp()
  from kept where present.conversation_id = kept.conversation_id
  returning present.*
), stored as (
  insert into conversation_summary_versions (${VERSION_COLUMNS}) select ${VERSION_COLUMNS} from reverted
)
select ${summaryJson("reverted")} as summary from reverted`;

const COUNT = `
select
  coalesce((select ${IS_SATURATED} from conversations where id = $1), false) as "isSaturated",
  exists (select from conversation_summaries where conversation_id = $1) as "hasSummary",
  (select count(*) from (${messagesOfPathSql({
    columns: 'id, created_at as "createdAt"',
    conversationId: "$1::uuid",
    path: pathOf("$1"),
    where: `completed and ${behindSummary("conversation_summaries where conversation_id = $1")}`,
    order: "asc",
    limit: unknownLimit("$2"),
  })}) uncovered)::int as uncovered`;

/** The summaries of a database. */
export function makeSummaryStore(database: Database): SummaryStore {
  return {
    async find(conversation) {
      const [row] = await database.query<{ summary: SummaryJson }>({ name: "summary-find", text: FIND, values: ownedValues(conversation) });
      return row ? toSummary(row.summary) : null;
    },

    async findVersion(conversation, version) {
      const values = [...ownedValues(conversation), version];
      const [row] = await database.query<{ summary: SummaryJson }>({ name: "summary-version", text: FIND_VERSION, values });
      return row ? toSummary(row.summary) : null;
    },

    latest: ({ tenantId, userId }, limit) => database.query({ name: "summary-latest", text: LATEST, values: [tenantId, userId, limit] }),

    async readBacklog(conversation, limit) {
      const values = [...ownedValues(conversation), limit];
      const row = await queryRow<BacklogRow>(database, { name: "summary-backlog", text: BACKLOG, values });
      return { ...row, summary: row.summary && toSummary(row.summary), messages: row.messages.map(toPromptMessage) };
    },

    async save(conversation, { readVersion, text, tokenCount, parts = null, coveredThrough, addedMessageCount, rewrites }) {
      const { createdAt, id } = coveredThrough;
      const counts = [addedMessageCount, tokenCount, rewrites];
      const values = [...ownedValues(conversation), readVersion, text, createdAt, id, ...counts, parts && JSON.stringify(parts)];
      try {
        return (await database.query({ name: "summary-save", text: SAVE, values })).length === 1;
      } catch (error) {
        if (isForeignKeyViolation(error)) return false; // the conversation was just deleted
        throw error;
      }
    },

    async revert(conversation, version) {
      const values = [...ownedValues(conversation), version];
      const [row] = await database.query<{ summary: SummaryJson }>({ name: "summary-revert", text: REVERT, values });
      return row ? toSummary(row.summary) : null;
    },

    async lockAndCount(transaction, conversation, atMost) {
      if (!(await lockConversation(transaction, conversation))) return null;
      return queryRow(transaction, { name: "summary-count", text: COUNT, values: [conversation.conversationId, atMost] });
    },
  };
}
