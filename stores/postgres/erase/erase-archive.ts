import type { Owner } from "../../../turn/owner.ts";
import type { Queryable } from "../database/database.ts";
import { ALL_TRIGGERS } from "../memory/operation-store.ts";

/** SQL: whether a message is erased, $4 or with its conversation $3. */
const isGoneSql = (id: string): string =>
  `not exists (select from messages where messages.id = ${id} and ($4::uuid[] is not null or messages.conversation_id <> $3))`;
const anyIsGoneSql = (ids: string): string => `exists (select from unnest(${ids}) as rested (id) where ${isGoneSql("rested.id")})`;

/**
 * Erases operations that changed no section with any of their messages, which they may quote. Changes of an archived memory also quote its
 * sources, in other conversations too.
 */
const ERASE_OPERATIONS = `
delete from memory_operations
where tenant_id = $1 and user_id = $2 and (
  conversation_id = $3 and ($4::uuid[] is null or ${ALL_TRIGGERS} && $4 and (
    ${ALL_TRIGGERS} <@ $4 or operation <> 'core_update' or refused is not null))
  or rests_on is not null and ${anyIsGoneSql("rests_on")})
returning id,
  case when operation = 'archival_delete' and refused is null and conversation_id = $3 and ($4::uuid[] is null or ${ALL_TRIGGERS} && $4)
  then rests_on else '{}' end as "restsOn"`;

const CLEAR_TOP_RESULTS = `
update memory_operations set top_result = null
where tenant_id = $1 and user_id = $2 and top_result is not null and ${isGoneSql("(top_result->>'id')::uuid")}
  and not exists (select from archived_memories where archived_memories.id = (top_result->>'id')::uuid and ($4::uuid[] is not null or archived_memories.conversation_id <> $3))`;

const ERASE_ARCHIVED = `
delete from archived_memories using conversations
where conversations.id = conversation_id and tenant_id = $1 and user_id = $2 and (
  conversation_id = $3 and ${ALL_TRIGGERS} && $4::uuid[] or corrected_at is not null and ${anyIsGoneSql(ALL_TRIGGERS)})
returning archived_memories.id, ${ALL_TRIGGERS} || repeated_in as "restsOn"`;

const REMOVE_REPETITIONS = `
update archived_memories set repeated_in = array(select repeated from unnest(repeated_in) as repeated where repeated <> all($2::uuid[]))
where conversation_id = $1 and repeated_in && $2::uuid[]`;

export interface ErasedArchive {
  /** Their number. */
  operations: number;
  archivedIds: string[];
  /** Messages that the erased memories rested on. */
  restsOn: string[];
}

/** Erases the operations and archived memories that rest on erased messages: all of a conversation, or `messageIds` in it. */
export async function eraseArchive(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  { conversationId, messageIds }: { conversationId: string; messageIds?: readonly string[] },
): Promise<ErasedArchive> {
  const values = [tenantId, userId, conversationId, messageIds ?? null];
  const removed = await transaction.query<{ restsOn: string[] }>({ name: "unlearn-operations", text: ERASE_OPERATIONS, values });
  if (messageIds)
    await transaction.query({ name: "unlearn-archived-again", text: REMOVE_REPETITIONS, values: [conversationId, messageIds] });
  const archived = await transaction.query<{ id: string; restsOn: string[] }>({ name: "unlearn-archived", text: ERASE_ARCHIVED, values });
  await transaction.query({ name: "unlearn-top-results", text: CLEAR_TOP_RESULTS, values });
  const restsOn = [...archived, ...removed].flatMap((gone) => gone.restsOn);
  return { operations: removed.length, archivedIds: archived.map(({ id }) => id), restsOn };
}
