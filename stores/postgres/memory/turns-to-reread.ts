import type { Owner } from "../../owner.ts";
import type { Queryable } from "../database/database.ts";

const NOTE = `
insert into turns_to_read_again (message_id, conversation_id, noted_at)
select messages.id, conversation_id, clock_timestamp()
from messages join conversations on conversations.id = conversation_id
where messages.id = any($3) and role = 'user' and tenant_id = $1 and user_id = $2
on conflict (message_id) do nothing
returning message_id`;

/** Notes turns of an owner, by their user's messages, for the memory agent to read again; those that are there. True: there are some. */
export async function addTurnsToReread(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  messageIds: readonly string[],
): Promise<boolean> {
  if (messageIds.length === 0) return false;
  const noted = await transaction.query({ name: "again-note", text: NOTE, values: [tenantId, userId, messageIds] });
  return noted.length > 0;
}

/** Whose notes are meant: the owner's, of conversations that are there. */
export const TURNS_TO_REREAD = `
from turns_to_read_again join conversations on conversations.id = turns_to_read_again.conversation_id
where tenant_id = $1 and user_id = $2`;

const TAKE = `
delete from turns_to_read_again using conversations
where conversations.id = conversation_id and tenant_id = $1 and user_id = $2 and message_id = any($3)
returning message_id`;

/** Takes notes of an owner away; false when they are not all there any more: another has read these turns, or they were erased. */
export async function removeTurnsToReread(
  transaction: Queryable,
  { tenantId, userId }: Owner,
  messageIds: readonly string[],
): Promise<boolean> {
  const taken = await transaction.query({ name: "again-take", text: TAKE, values: [tenantId, userId, messageIds] });
  return taken.length === messageIds.length;
}
