import type { OwnedConversation } from "../../../turn/owner.ts";
import { MOST_PAGE_BYTES, type PageRequest } from "../../page.ts";
import type { StatementValue } from "./database.ts";

export const MIN_UUID = "'00000000-0000-0000-0000-000000000000'";
export const MAX_UUID = "'ffffffff-ffff-ffff-ffff-ffffffffffff'";

/** SQL: the id of the owner's conversation. $1 to $3 are `ownedValues`. */
export const OWNED_ID = "(select id from conversations where id = $1 and tenant_id = $2 and user_id = $3)";

export function ownedValues({ conversationId, tenantId, userId }: OwnedConversation): [string, string, string] {
  return [conversationId, tenantId, userId];
}

/** For lists with the newest first. The cursor is two of `pageValues`, from `parameter` on. */
export function isBeforeCursor(parameter: number): string {
  return `(created_at, id) < (coalesce($${parameter}::timestamptz, 'infinity'), coalesce($${parameter + 1}::uuid, ${MAX_UUID}))`;
}

/** The extra row tells whether another page follows. */
export function pageValues({ limit, after }: PageRequest): StatementValue[] {
  return [after?.createdAt ?? null, after?.id ?? null, limit + 1];
}

/** SQL: a place in the order `(created_at, id)`; null is the start. */
export function placeOrStart(createdAt: string, id: string): string {
  return `(coalesce(${createdAt}, '-infinity'), coalesce(${id}, ${MIN_UUID}))`;
}

/** SQL: the first rows of `select … order by`, at least one, that fit into a page together. */
export const fittingSql = (rows: string, order: string): string => `
select * from (
  select listed.*, row_number() over (order by ${order}) < count(*) over () as "isMore",
    sum(bytes) over (order by ${order}) <= ${MOST_PAGE_BYTES} or row_number() over (order by ${order}) = 1 as "isFitting"
  from (${rows}) listed
) page where "isFitting" order by ${order}`;
