import { TOKENS_PER_MESSAGE } from "../../../text/tokens.ts";
import type { OwnedConversation } from "../../owner.ts";
import { isBehind } from "../../page.ts";
import { ownerKey } from "../../search/index-keys.ts";
import { type Database, queryRow } from "../database/database.ts";
import { OWNED_ID, ownedValues, placeOrStart } from "../database/sql-parts.ts";
import { lastErasureSql } from "../memory/core-memory-store.ts";
import { behindSummary, type StoredSummary, SUMMARY_OF, type SummaryJson, summaryJson, toSummary } from "../memory/summary-store.ts";
import { PROMPT_MESSAGE, type PromptMessage, toPromptMessage } from "./conversation-store.ts";

export interface WindowRequest extends OwnedConversation {
  exceptMessageId: string;
  /** The least number of messages, even when the summary covers some. */
  atLeast: number;
  /** Older messages are read up to this many tokens. */
  maxTokens: number;
  /** False: the window is every message. */
  useSummary: boolean;
}

export interface LoadedWindow {
  summary: StoredSummary | null;
  /** Completed messages, oldest first: all that the summary does not cover, and at least `atLeast` in any case. */
  messages: PromptMessage[];
  /** False when older uncovered messages were not read. */
  isWhole: boolean;
  lastErasure: string | null;
}

export interface WindowStore {
  /** Both from one snapshot: no message is between summary and window. */
  load(request: WindowRequest): Promise<LoadedWindow>;
}

/** Messages read with the summary: enough unless the summariser is behind. */
const FIRST_PAGE = 200;
const NEXT_PAGE = 1_000;

const WINDOW = `
with current_summary as materialized (${SUMMARY_OF} and $4::boolean)
select
  (select ${summaryJson("current_summary")} from current_summary) as summary,
  (select coalesce(json_agg(newest), '[]') from (
    select ${PROMPT_MESSAGE} from messages
    where conversation_id = ${OWNED_ID} and completed and id <> $5
      and ${behindSummary("current_summary")}
    order by created_at desc, id desc limit $6
  ) newest) as messages,
  ${lastErasureSql("$7")} as "lastErasure"`;

interface WindowRow {
  summary: SummaryJson | null;
  messages: PromptMessage[];
  lastErasure: string | null;
}

const OLDER = `
select ${PROMPT_MESSAGE} from messages
where conversation_id = ${OWNED_ID} and completed
  and (created_at, id) < ($4::timestamptz, $5::uuid) and (created_at, id) > ${placeOrStart("$6::timestamptz", "$7::uuid")}
order by created_at desc, id desc limit $8`;

function countTokens(messages: PromptMessage[]): number {
  return messages.reduce((sum, { tokenCount }) => sum + tokenCount + TOKENS_PER_MESSAGE, 0);
}

export function makeWindowStore(database: Database): WindowStore {
  async function readNewest(request: WindowRequest, useSummary: boolean, limit: number) {
    const { tenantId, userId, exceptMessageId } = request;
    const values = [...ownedValues(request), useSummary, exceptMessageId, limit, ownerKey(tenantId, userId)];
    const { summary, messages, lastErasure } = await queryRow<WindowRow>(database, { name: "window-newest", text: WINDOW, values });
    return { summary: summary && toSummary(summary), newest: messages.map(toPromptMessage), lastErasure };
  }

  function readOlder(request: WindowRequest, before: PromptMessage, summary: StoredSummary | null): Promise<PromptMessage[]> {
    const { createdAt = null, id = null } = summary?.coveredThrough ?? {};
    const values = [...ownedValues(request), before.createdAt, before.id, createdAt, id, NEXT_PAGE + 1];
    return database.query<PromptMessage>({ name: "window-older", text: OLDER, values });
  }

  return {
    async load(request) {
      const page = Math.max(FIRST_PAGE, request.atLeast);
      const { summary, newest, lastErasure } = await readNewest(request, request.useSummary, page + 1);
      if (summary && newest.length < request.atLeast) {
        // The window reaches back behind the cover point.
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
