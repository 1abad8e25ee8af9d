import type { Owner } from "../../../turn/owner.ts";
import type { Queryable } from "../database/database.ts";

const ADD_REREAD = `
insert into turns_to_read_again (message_id, conversation_id, noted_at)
select messages.id, conversation_id, clock_timestamp()
from messages join conversations on conversations.id = conversation_id
where messages.id = any($3) and role = 'user' and tenant_id = $1 and user_id = $2
on conflict (message_id) do nothing
returning message_id`;

/** Adds turns to read again, by their questions; skips missing ones. True when any was added. */
export async function addTurnsToReread(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  messageIds: readonly string[],
): Promise<boolean> {
  if (messageIds.length === 0) return false;
  const noted = await transaction.query({ name: "again-note", text: ADD_REREAD, values: [tenantId, userId, messageIds] });
  return noted.length > 0;
}

/** SQL: the turns of an owner, $1 and $2, to read again. */
export const TURNS_TO_REREAD = `
from turns_to_read_again join conversations on conversations.id = turns_to_read_again.conversation_id
where tenant_id = $1 and user_id = $2`;

const REMOVE_REREAD = `
delete from turns_to_read_again using conversations
where conversations.id = conversation_id and tenant_id = $1 and user_id = $2 and message_id = any($3)
returning message_id`;

/** Removes turns to read again; false when some are gone. */
export async function removeTurnsToReread(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  messageIds: readonly string[],
): Promise<boolean> {
  const taken = await transaction.query({ name: "again-take", text: REMOVE_REREAD, values: [tenantId, userId, messageIds] });
  return taken.length === messageIds.length;
}
