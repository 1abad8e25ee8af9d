import type { OwnedConversation } from "../../owner.ts";
import type { Cursor } from "../../page.ts";
import type { Database, Queryable } from "../database/database.ts";
import { lockConversation } from "../conversations/locks.ts";
import type { Role } from "../conversations/message-store.ts";
import { isForeignKeyViolation } from "../database/storage-errors.ts";
import { MIN_UUID, OWNED_ID, ownedValues } from "../database/sql-parts.ts";

/** The running summary of a conversation in one version. */
export interface StoredSummary {
  text: string;
  /** From 1, one more with each save. */
  version: number;
  /** The cover point: every completed message up to here is covered. */
  coveredThrough: Cursor;
  coveredMessageCount: number;
  /** Estimated. */
  tokenCount: number;
  updatedAt: Date;
}

/** A message for the summariser. */
export interface UncoveredMessage extends Cursor {
  role: Role;
  content: string;
  tokenCount: number;
}

/** A summary that replaces the version that was read (0 for none). */
export interface SummaryToSave {
  readVersion: number;
  text: string;
  tokenCount: number;
  coveredThrough: Cursor;
  /** Messages it covers beyond the version that was read. */
  addedMessageCount: number;
  /** As read with the messages: erased or inserted messages change it, and the save fails. */
  rewrites: number;
}

/** The input of the summariser. */
export interface SummaryBacklog {
  summary: StoredSummary | null;
  messages: UncoveredMessage[];
  /** How often messages were erased or inserted between others. */
  rewrites: number;
}

/** Reads and writes summaries. */
export interface SummaryStore {
  /** Null without one, or without such a conversation. */
  find(conversation: OwnedConversation): Promise<StoredSummary | null>;
  /** One of the last versions; null when it is not stored. */
  findVersion(conversation: OwnedConversation, version: number): Promise<StoredSummary | null>;
  /** The summary and the oldest completed messages behind its cover point, from one snapshot. */
  readBacklog(conversation: OwnedConversation, limit: number): Promise<SummaryBacklog>;
  /**
   * Saves when the version is the one that was read, no messages were erased or inserted since, and the cover point moves forward; else
   * false.
   */
  save(conversation: OwnedConversation, summary: SummaryToSave): Promise<boolean>;
  /**
   * Whether there is a summary, and the number of uncovered completed messages, up to `atMost`; null when the conversation is gone. Locks
   * the conversation.
   */
  lockAndCount(
    transaction: Queryable,
    conversation: OwnedConversation,
    atMost: number,
  ): Promise<{ hasSummary: boolean; uncovered: number } | null>;
}

export interface SummaryRow {
  summary: string;
  summary_version: number;
  covered_through_created_at: Date | string;
  covered_through_message_id: string;
  covered_message_count: number;
  token_count: number;
  updated_at: Date | string;
}

export function toSummary(row: SummaryRow): StoredSummary {
  return {
    text: row.summary,
    version: row.summary_version,
    coveredThrough: { createdAt: new Date(row.covered_through_created_at), id: row.covered_through_message_id },
    coveredMessageCount: row.covered_message_count,
    tokenCount: row.token_count,
    updatedAt: new Date(row.updated_at),
  };
}

export const SUMMARY_OF = `
select conversation_summaries.* from conversation_summaries join conversations on conversations.id = conversation_id
where conversation_id = $1 and tenant_id = $2 and user_id = $3`;

const BACKLOG = `
with current_summary as materialized (${SUMMARY_OF})
select
  (select row_to_json(current_summary) from current_summary) as summary,
  (select rewrites from conversations where id = $1 and tenant_id = $2 and user_id = $3) as rewrites,
  (select coalesce(json_agg(oldest), '[]') from (
    select id, role, content, token_count, created_at from messages
    where conversation_id = ${OWNED_ID} and completed
      and (created_at, id) > (
        coalesce((select covered_through_created_at from current_summary), '-infinity'),
        coalesce((select covered_through_message_id from current_summary), ${MIN_UUID}))
    order by created_at, id limit $4
  ) oldest) as messages`;

const VERSIONS_KEPT = 20;
const VERSION_COLUMNS = `conversation_id, summary_version, summary, covered_through_created_at, covered_through_message_id, covered_message_count,
  token_count, updated_at`;

/** Compares rows, (a, b) < (x, y). With a bare `or`, the version check would apply to one branch only. */
const SAVE = `
with saved as (
insert into conversation_summaries as existing (conversation_id, summary, summary_version, covered_through_created_at,
  covered_through_message_id, covered_message_count, token_count, created_at, updated_at)
select id, $5, $4 + 1, $6, $7, $8, $9, clock_timestamp(), clock_timestamp() from conversations
where id = $1 and tenant_id = $2 and user_id = $3 and rewrites = $10
  and ($4 = 0 or exists (select from conversation_summaries where conversation_id = $1))
for share of conversations
on conflict (conversation_id) do update
set summary = excluded.summary,
    summary_version = excluded.summary_version,
    covered_through_created_at = excluded.covered_through_created_at,
    covered_through_message_id = excluded.covered_through_message_id,
    covered_message_count = existing.covered_message_count + excluded.covered_message_count,
    token_count = excluded.token_count,
    updated_at = excluded.updated_at
where existing.summary_version = $4
  and (existing.covered_through_created_at, existing.covered_through_message_id)
    < (excluded.covered_through_created_at, excluded.covered_through_message_id)
returning ${VERSION_COLUMNS}
), dropped as (
  delete from conversation_summary_versions where conversation_id = $1 and summary_version <= $4 + 1 - ${VERSIONS_KEPT} and exists (select from saved)
)
insert into conversation_summary_versions (${VERSION_COLUMNS}) select ${VERSION_COLUMNS} from saved
returning summary_version`;

const VERSION_OF = `
select conversation_summary_versions.* from conversation_summary_versions join conversations on conversations.id = conversation_id
where conversation_id = $1 and tenant_id = $2 and user_id = $3 and summary_version = $4`;

const COUNT = `
select
  exists (select from conversation_summaries where conversation_id = $1) as has_summary,
  (select count(*) from (
    select from messages
    where conversation_id = $1 and completed
      and (created_at, id) > (
        coalesce((select covered_through_created_at from conversation_summaries where conversation_id = $1), '-infinity'),
        coalesce((select covered_through_message_id from conversation_summaries where conversation_id = $1), ${MIN_UUID}))
    order by created_at, id limit $2
  ) uncovered)::int as uncovered`;

interface UncoveredRow {
  id: string;
  role: Role;
  content: string;
  token_count: number;
  created_at: string;
}

/** The summaries of a database. */
export function makeSummaryStore(database: Database): SummaryStore {
  return {
    async find(conversation) {
      const [row] = await database.query<SummaryRow>({ name: "summary-find", text: SUMMARY_OF, values: ownedValues(conversation) });
      return row ? toSummary(row) : null;
    },

    async findVersion(conversation, version) {
      const values = [...ownedValues(conversation), version];
      const [row] = await database.query<SummaryRow>({ name: "summary-version", text: VERSION_OF, values });
      return row ? toSummary(row) : null;
    },

    async readBacklog(conversation, limit) {
      const [row] = await database.query<{ summary: SummaryRow | null; messages: UncoveredRow[]; rewrites: number | null }>({
        name: "summary-backlog",
        text: BACKLOG,
        values: [...ownedValues(conversation), limit],
      });
      const messages = (row?.messages ?? []).map(({ id, role, content, token_count, created_at }) => {
        return { id, role, content, tokenCount: token_count, createdAt: new Date(created_at) };
      });
      return { summary: row?.summary ? toSummary(row.summary) : null, messages, rewrites: row?.rewrites ?? 0 };
    },

    async save(conversation, { readVersion, text, tokenCount, coveredThrough, addedMessageCount, rewrites }) {
      const { createdAt, id } = coveredThrough;
      try {
        const rows = await database.query({
          name: "summary-save",
          text: SAVE,
          values: [...ownedValues(conversation), readVersion, text, createdAt, id, addedMessageCount, tokenCount, rewrites],
        });
        return rows.length === 1;
      } catch (error) {
        // The conversation was just deleted.
        if (isForeignKeyViolation(error)) return false;
        throw error;
      }
    },

    async lockAndCount(transaction, conversation, atMost) {
      if (!(await lockConversation(transaction, conversation))) return null;
      const [row] = await transaction.query<{ has_summary: boolean; uncovered: number }>({
        name: "summary-count",
        text: COUNT,
        values: [conversation.conversationId, atMost],
      });
      return { hasSummary: row?.has_summary ?? false, uncovered: row?.uncovered ?? 0 };
    },
  };
}
