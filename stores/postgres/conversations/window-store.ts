import { TOKENS_PER_MESSAGE } from "../../../text/tokens.ts";
import { isBehind } from "../../page.ts";
import { ownerKey } from "../../search/index-keys.ts";
import { lastErasureSql } from "../memory/core-memory-store.ts";
import type { Database } from "../database/database.ts";
import type { Role } from "./message-store.ts";
import { SUMMARY_OF, toSummary, type StoredSummary, type SummaryRow } from "../memory/summary-store.ts";
import type { OwnedConversation } from "../../owner.ts";
import { MIN_UUID, OWNED_ID } from "../database/sql-parts.ts";

/** A message as the model gets it. */
export interface StoredWindowMessage {
  id: string;
  role: Role;
  content: string;
  tokenCount: number;
  createdAt: Date;
}

export interface WindowRequest extends OwnedConversation {
  /** The message of the running turn, excluded by id: an equal earlier text stays. */
  exceptMessageId: string;
  /** At least so many of the newest messages, even when the summary covers some. */
  atLeast: number;
  /** Stop reading older messages at so many tokens. */
  maxTokens: number;
  /** False: no summary, and the window is every message. */
  useSummary: boolean;
}

export interface LoadedWindow {
  summary: StoredSummary | null;
  /** Completed messages that the summary does not cover, oldest first. */
  messages: StoredWindowMessage[];
  /** False when older uncovered messages were not read. */
  isWhole: boolean;
  /** When this user was last erased, as recorded; null for never. */
  lastErasure: string | null;
}

export interface WindowStore {
  /** The summary and the window behind it, from one snapshot: no message is between them. */
  load(request: WindowRequest): Promise<LoadedWindow>;
}

/** Messages read with the summary: enough unless the summariser is behind. */
const FIRST_PAGE = 200;
const NEXT_PAGE = 1_000;

/** One statement, one snapshot: a summary saved meanwhile leaves no gap before the window, and no overlap. */
const WINDOW = `
with current_summary as materialized (${SUMMARY_OF} and $4::boolean)
select
  (select row_to_json(current_summary) from current_summary) as summary,
  (select coalesce(json_agg(newest), '[]') from (
    select id, role, content, token_count, created_at from messages
    where conversation_id = ${OWNED_ID} and completed and id <> $5
      and (created_at, id) > (
        coalesce((select covered_through_created_at from current_summary), '-infinity'),
        coalesce((select covered_through_message_id from current_summary), ${MIN_UUID}))
    order by created_at desc, id desc limit $6
  ) newest) as messages,
  ${lastErasureSql("$7")} as last_erasure`;

const OLDER = `
select id, role, content, token_count, created_at from messages
where conversation_id = ${OWNED_ID} and completed
  and (created_at, id) < ($4::timestamptz, $5::uuid)
  and (created_at, id) > (coalesce($6::timestamptz, '-infinity'), coalesce($7::uuid, ${MIN_UUID}))
order by created_at desc, id desc limit $8`;

interface WindowRow {
  id: string;
  role: Role;
  content: string;
  token_count: number;
  created_at: Date | string;
}

function toMessage({ id, role, content, token_count, created_at }: WindowRow): StoredWindowMessage {
  return { id, role, content, tokenCount: token_count, createdAt: new Date(created_at) };
}

function countTokens(messages: StoredWindowMessage[]): number {
  return messages.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);
}

export function makeWindowStore(database: Database): WindowStore {
  /** The newest messages first. */
  async function readNewest(
    { conversationId, tenantId, userId, exceptMessageId }: WindowRequest,
    useSummary: boolean,
    limit: number,
  ): Promise<{ summary: StoredSummary | null; newest: StoredWindowMessage[]; lastErasure: string | null }> {
    const [row] = await database.query<{ summary: SummaryRow | null; messages: WindowRow[]; last_erasure: string | null }>({
      name: "window-newest",
      text: WINDOW,
      values: [conversationId, tenantId, userId, useSummary, exceptMessageId, limit, ownerKey(tenantId, userId)],
    });
    return {
      summary: row?.summary ? toSummary(row.summary) : null,
      newest: (row?.messages ?? []).map(toMessage),
      lastErasure: row?.last_erasure ?? null,
    };
  }

  async function readOlder(
    { conversationId, tenantId, userId }: WindowRequest,
    before: StoredWindowMessage,
    summary: StoredSummary | null,
  ): Promise<StoredWindowMessage[]> {
    const cover = summary?.coveredThrough;
    const rows = await database.query<WindowRow>({
      name: "window-older",
      text: OLDER,
      values: [conversationId, tenantId, userId, before.createdAt, before.id, cover?.createdAt ?? null, cover?.id ?? null, NEXT_PAGE + 1],
    });
    return rows.map(toMessage);
  }

  return {
    async load(request) {
      const page = Math.max(FIRST_PAGE, request.atLeast);
      const { summary, newest, lastErasure } = await readNewest(request, request.useSummary, page + 1); // one more tells whether there are older ones
      if (summary && newest.length < request.atLeast) {
        // HISTORY_WINDOW was raised since the summary was made, or the turn's own message is among the uncovered ones: the
        // window reaches back behind the cover point. What was read with the summary stays.
        const last = await readNewest(request, false, request.atLeast);
        const covered = last.newest.filter((message) => !isBehind(message, summary.coveredThrough));
        return { summary, messages: [...newest, ...covered].reverse(), isWhole: true, lastErasure };
      }
      let isWhole = newest.length <= page;
      let oldest = newest.at(-1);
      while (!isWhole && oldest && countTokens(newest) < request.maxTokens) {
        const older = await readOlder(request, oldest, summary);
        newest.push(...older);
        isWhole = older.length <= NEXT_PAGE;
        oldest = older.at(-1);
      }
      return { summary, messages: newest.reverse(), isWhole, lastErasure };
    },
  };
}
