import { messageTokens } from "../../../text/tokens.ts";
import type { OwnedConversation } from "../../../turn/owner.ts";
import { isBehind } from "../../page.ts";
import { ownerKey } from "../../index-keys.ts";
import { type Database, queryRow } from "../database/database.ts";
import { OWNED_ID, ownedValues, placeOrStart } from "../database/sql-parts.ts";
import { lastErasureSql } from "../memory/core-memory-store.ts";
import { behindSummary, type StoredSummary, type SummaryJson, summaryJson, toSummary } from "../memory/summary-store.ts";
import { messagesOfPathSql, pathOf, unknownLimit } from "../paths/branch-path.ts";
import { PROMPT_MESSAGE, type PromptMessage, toPromptMessage } from "../conversations/message-store.ts";

export interface WindowRequest extends OwnedConversation {
  exceptMessageId: string;
  /** The least number of messages, even when the summary covers some. */
  atLeast: number;
  /** Older messages are read up to this many tokens. */
  maxTokens: number;
  /** False: the window is every message. */
  useSummary: boolean;
}

export interface NewestMessages {
  summary: SummaryJson | null;
  messages: PromptMessage[];
  lastErasure: string | null;
}

export interface LoadedWindow {
  summary: StoredSummary | null;
  /** Completed messages, oldest first: all that the summary does not cover, and at least `atLeast`. */
  messages: PromptMessage[];
  /** False when older uncovered messages were not read. */
  isWhole: boolean;
  lastErasure: string | null;
}

export interface WindowStore {
  /** Both as of one moment: no message is between summary and window. `newest` is what `newestSql` has given already. */
  load(request: WindowRequest, newest?: NewestMessages): Promise<LoadedWindow>;
}

/** Messages read with the summary: enough unless the summariser is behind. */
const FIRST_PAGE = 200;
const NEXT_PAGE = 1_000;

/** SQL: `NewestMessages` of a conversation of the owner with its path; the other arguments are places of values. */
export const newestSql = (
  ownedId: string,
  path: string,
  { useSummary, except, limit, ownerKey: key }: Record<"useSummary" | "except" | "limit" | "ownerKey", string>,
): string => `
with current_summary as materialized (select * from conversation_summaries where conversation_id = ${ownedId} and ${useSummary}::boolean)
select
  (select ${summaryJson("current_summary")} from current_summary) as summary,
  (select coalesce(json_agg(newest), '[]') from (${messagesOfPathSql({
    columns: PROMPT_MESSAGE,
    conversationId: ownedId,
    path,
    where: `completed and id <> ${except} and ${behindSummary("current_summary")}`,
    order: "desc",
    limit,
  })}) newest) as messages,
  ${lastErasureSql(key)} as "lastErasure"`;

const WINDOW = newestSql(OWNED_ID, pathOf("$1"), { useSummary: "$4", except: "$5", limit: unknownLimit("$6"), ownerKey: "$7" });

const OLDER = messagesOfPathSql({
  columns: PROMPT_MESSAGE,
  conversationId: OWNED_ID,
  path: pathOf("$1"),
  where: `completed and (created_at, id) < ($4::timestamptz, $5::uuid) and (created_at, id) > ${placeOrStart("$6::timestamptz", "$7::uuid")}`,
  order: "desc",
  limit: unknownLimit("$8"),
});

function toNewest({ summary, messages, lastErasure }: NewestMessages) {
  return { summary: summary && toSummary(summary), newest: messages.map(toPromptMessage), lastErasure };
}

export function firstPage({ atLeast }: Pick<WindowRequest, "atLeast">): number {
  return Math.max(FIRST_PAGE, atLeast);
}

export function makeWindowStore(database: Database): WindowStore {
  async function readNewest(request: WindowRequest, useSummary: boolean, limit: number): Promise<NewestMessages> {
    const { tenantId, userId, exceptMessageId } = request;
    const values = [...ownedValues(request), useSummary, exceptMessageId, limit, ownerKey(tenantId, userId)];
    return queryRow<NewestMessages>(database, { name: "window-newest", text: WINDOW, values });
  }

  async function readOlder(request: WindowRequest, before: PromptMessage, summary: StoredSummary | null): Promise<PromptMessage[]> {
    const { createdAt = null, id = null } = summary?.coveredThrough ?? {};
    const values = [...ownedValues(request), before.createdAt, before.id, createdAt, id, NEXT_PAGE + 1];
    return (await database.query<PromptMessage>({ name: "window-older", text: OLDER, values })).map(toPromptMessage);
  }

  return {
    async load(request, given) {
      const page = firstPage(request);
      const { summary, newest, lastErasure } = toNewest(given ?? (await readNewest(request, request.useSummary, page + 1)));
      if (summary && newest.length < request.atLeast) {
        // The window reaches back before the cover point.
        const last = toNewest(await readNewest(request, false, request.atLeast));
        const covered = last.newest.filter((message) => !isBehind(message, summary.coveredThrough));
        return { summary, messages: [...newest, ...covered].reverse(), isWhole: true, lastErasure };
      }
      let isWhole = newest.length <= page;
      let oldest = newest.at(-1);
      while (!isWhole && oldest && messageTokens(newest) < request.maxTokens) {
        const older = await readOlder(request, oldest, summary);
        newest.push(...older);
        isWhole = older.length <= NEXT_PAGE;
        oldest = older.at(-1);
      }
      return { summary, messages: newest.reverse(), isWhole, lastErasure };
    },
  };
}
