import type { Owner } from "../../../turn/owner.ts";
import { episodeGroupId } from "../../index-keys.ts";
import { CLEARED } from "../turns/turn-record-store.ts";
import { type Queryable, queryRow } from "../database/database.ts";
import { addMarkers, ERASED_TENANT, type Erasure } from "../conversations/erase-markers.ts";

/** $3 is null for the user. No part counts beyond the limit. */
const IS_LARGE = `
select coalesce(sum(rows), 0) > $4::int as "isLarge" from (
  (select message_count + 1 as rows from conversations where tenant_id = $1 and user_id = $2 and ($3::uuid is null or id = $3) limit $4 + 1)
  union all (select 1 from conversations join archived_memories on conversation_id = conversations.id
    where tenant_id = $1 and user_id = $2 and ($3::uuid is null or conversations.id = $3) limit $4 + 1)
  union all (select 1 from memory_operations where tenant_id = $1 and user_id = $2 and $3::uuid is null limit $4 + 1)
  union all (select 1 from core_memory_versions where tenant_id = $1 and user_id = $2 and $3::uuid is null limit $4 + 1)
) counted`;

export async function isLargeErase(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  conversationId: string | null,
  atOnce: number,
): Promise<boolean> {
  const values = [tenantId, userId, conversationId, atOnce];
  return (await queryRow<{ isLarge: boolean }>(transaction, { name: "erase-size", text: IS_LARGE, values })).isLarge;
}

/** The keys of its turns are free at once. */
const SOFT_DELETE = `
with chosen as materialized (
  select id from conversations where tenant_id = $1 and user_id = $2 and ($4::uuid is null or id = $4) order by created_at, id limit $5 for update
), freed as (
  update turns set ${CLEARED} where tenant_id = $1 and user_id = $2 and key_hash is not null and conversation_id in (select id from chosen)
)
update conversations set tenant_id = '${ERASED_TENANT}', user_id = $3::uuid::text, session_id = conversations.id::text, title = null, title_by = null, metadata = '{}', turn_id = null, turn_lease_until = null
from chosen where conversations.id = chosen.id
returning conversations.id, message_count as messages`;

/** Soft-deletes up to `limit` conversations and adds markers. Returns whether there is an index. Needs the owner's lock. */
export async function softDeleteConversations(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  { id, ownerKey: key, conversationId }: Erasure,
  limit: number,
): Promise<{ conversations: number; messages: number; isIndexed: boolean }> {
  const rows = await transaction.query<{ id: string; messages: number }>({
    name: "erase-set-aside",
    text: SOFT_DELETE,
    values: [tenantId, userId, id, conversationId, limit],
  });
  const groupIds = rows.map((row) => episodeGroupId(row.id));
  const isIndexed = await addMarkers(transaction, { ownerKey: key, groupIds, episodeIds: [] });
  return { conversations: rows.length, messages: rows.reduce((sum, row) => sum + row.messages, 0), isIndexed };
}
