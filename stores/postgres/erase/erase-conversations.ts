import type { Owner, OwnedConversation } from "../../../turn/owner.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import type { Erased } from "./erase-exchange.ts";
import { ERASED_TENANT } from "../conversations/erase-markers.ts";

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

/** Pinned ones are never unused. */
const isUnusedSql = (days: string): string => `updated_at < clock_timestamp() - ${days} * interval '1 day' and not pinned`;

const LIST = `
select id as "conversationId", tenant_id as "tenantId", user_id as "userId" from conversations
where id > $1 and ${isUnusedSql("$2::int")} and tenant_id <> '${ERASED_TENANT}'
order by id limit $3`;

const IS_UNUSED = `select from conversations where id = $1 and ${isUnusedSql("$2::int")}`;

/** Lists every tenant's conversations without activity for so many days, by id, after the given one. */
export function listUnused(database: Queryable, after: string, days: number, limit: number): Promise<OwnedConversation[]> {
  return database.query<OwnedConversation>({ name: "unused-list", text: LIST, values: [after, days, limit] });
}

/** Needs the conversation's lock: something may have happened before it. */
export async function isUnused(transaction: Queryable, { conversationId }: OwnedConversation, days: number): Promise<boolean> {
  return (await transaction.query({ name: "unused-still", text: IS_UNUSED, values: [conversationId, days] })).length === 1;
}
