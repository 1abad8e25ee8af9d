import type { OwnedConversation } from "../../../turn/owner.ts";
import type { Queryable } from "../database/database.ts";
import { ERASED_TENANT } from "../conversations/erase-markers.ts";

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
