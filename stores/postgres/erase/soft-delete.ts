import type { JobTransaction } from "../../jobs/job-queue.ts";
import type { Owner } from "../../owner.ts";
import { episodeGroupId, ownerKey } from "../../search/index-keys.ts";
import type { Queryable } from "../database/database.ts";
import { CLEARED } from "../conversations/turn-record-store.ts";
import { addMarkers } from "./erase-markers.ts";
import type { Erased } from "./erase-exchange.ts";

/** The tenant of soft-deleted rows, which no caller has. The id of the erasure replaces user or knowledge base. */
export const ERASED_TENANT = "";

/** A fraction of a second. */
export const ERASE_BATCH_ROWS = 5_000;

export interface Erasure {
  id: string;
  tenantId: string;
  ownerKey: string;
  /** Null for the whole owner. */
  conversationId: string | null;
}

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
  const [row] = await transaction.query<{ isLarge: boolean }>({ name: "erase-size", text: IS_LARGE, values });
  return row?.isLarge ?? false;
}

/** Later calls add to the counts. */
const RECORD = `
insert into erasures as existing (id, tenant_key, owner_key, conversation_id, all_messages, core_memory_sections, memory_operations, jobs, started_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())
on conflict (id) do update set all_messages = existing.all_messages + excluded.all_messages, core_memory_sections = existing.core_memory_sections + excluded.core_memory_sections,
  memory_operations = existing.memory_operations + excluded.memory_operations, jobs = existing.jobs + excluded.jobs, finished_at = null, told_at = null`;

export type SoftDeletedCounts = Pick<Erased, "messages" | "coreMemorySections" | "memoryOperations" | "jobs">;

/** Records an erasure and adds its purge job. The row is locked first: a job that ends now sees the new rows. */
export async function recordErasure(
  transaction: Queryable,
  jobs: JobTransaction,
  { id, tenantId, ownerKey: key, conversationId }: Erasure,
  { messages, coreMemorySections, memoryOperations, jobs: erasedJobs }: SoftDeletedCounts,
): Promise<void> {
  const counts = [messages, coreMemorySections, memoryOperations, erasedJobs];
  await transaction.query({ name: "erasure-record", text: RECORD, values: [id, ownerKey(tenantId), key, conversationId, ...counts] });
  await jobs.add([{ kind: "erase", id }]);
  await jobs.addVacuum();
}

/** Keys of its turns are free at once. */
const SOFT_DELETE = `
with chosen as materialized (
  select id from conversations where tenant_id = $1 and user_id = $2 and ($4::uuid is null or id = $4) order by created_at, id limit $5 for update
), freed as (
  update turns set ${CLEARED} where tenant_id = $1 and user_id = $2 and key_hash is not null and conversation_id in (select id from chosen)
)
update conversations set tenant_id = '${ERASED_TENANT}', user_id = $3::uuid::text, session_id = conversations.id::text, turn_id = null, turn_lease_until = null
from chosen where conversations.id = chosen.id
returning conversations.id, message_count as messages`;

/**
 * Soft-deletes up to `limit` conversations, and adds their markers. Returns the numbers of conversations and messages, and whether there is
 * an index. Needs the owner's lock.
 */
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
