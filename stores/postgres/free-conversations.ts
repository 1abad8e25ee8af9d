import type { Database } from "./database.ts";

const FREE = `
update conversations set turn_id = null, turn_lease_until = null
from turns where turns.id = conversations.turn_id and turns.ended_at is null and turns.emptied_at is null`;

/**
 * Frees the conversations whose turns were cut off when the last process died, before their leases are over. Only for a database that no other
 * process uses, before this one's first turn: a turn that runs would lose its conversation.
 */
export async function freeConversations(database: Database): Promise<void> {
  await database.query({ text: FREE });
}
