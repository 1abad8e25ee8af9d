import type { Queryable } from "./database.ts";
import type { OwnedConversation } from "./summary-store.ts";

const LOCK = "select id from conversations where id = $1 and tenant_id = $2 and user_id = $3 for update";

/**
 * Locks a conversation until the transaction ends: no turn of it can end meanwhile, and so none can find its job still running. False when
 * it is gone. What has to be seen afterwards is read by a statement of its own, whose snapshot has what was committed during the wait.
 */
export async function lockConversation(transaction: Queryable, { conversationId, tenantId, userId }: OwnedConversation): Promise<boolean> {
  const locked = await transaction.query({ name: "conversation-lock", text: LOCK, values: [conversationId, tenantId, userId] });
  return locked.length === 1;
}
