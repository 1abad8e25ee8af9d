import type { Owner } from "../../../turn/owner.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import type { Erased } from "./erase-exchange.ts";

/** Sees one moment. The foreign key deletes a message written meanwhile. */
const ERASE_CONVERSATIONS = `
with erased as (
  delete from conversations where id = any($1) and tenant_id = $2 and user_id = $3 returning id
), messages as (
  delete from messages where conversation_id in (select id from erased) returning 1
), summaries as (
  delete from conversation_summaries where conversation_id in (select id from erased) returning 1
)
select (select count(*) from messages)::int as messages,
  (select count(*) from summaries)::int as summaries`;

export function eraseConversations(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  ids: readonly string[],
): Promise<Pick<Erased, "messages" | "summaries">> {
  return queryRow(transaction, { name: "erase-conversations", text: ERASE_CONVERSATIONS, values: [ids, tenantId, userId] });
}
