import { createHash } from "node:crypto";
import type { OwnedConversation, Owner } from "../../../turn/owner.ts";
import type { Queryable } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";

/** An advisory lock: 64 bits of a hash. Owners who share one wait for each other. */
export function ownerLock({ tenantId, userId }: Owner): string {
  const digest = createHash("sha256")
    .update(JSON.stringify(["owner", tenantId, userId]))
    .digest();
  return digest.readBigInt64BE(0).toString();
}

/** SQL: a common table expression that shares the owner's lock with what selects from it. `parameter` is the place of `ownerLock`. */
export const shareOwner = (parameter: number): string =>
  `guard as materialized (select pg_advisory_xact_lock_shared($${parameter}::bigint))`;

/** Take it before locks of conversations and jobs. Only later statements see what was committed during the wait. */
export async function lockOwner(transaction: Queryable, owner: Owner): Promise<void> {
  await transaction.query({ name: "owner-lock", text: "select pg_advisory_xact_lock($1::bigint)", values: [ownerLock(owner)] });
}

export async function lockOwnerShared(transaction: Queryable, owner: Owner): Promise<void> {
  await transaction.query({ name: "owner-share", text: "select pg_advisory_xact_lock_shared($1::bigint)", values: [ownerLock(owner)] });
}

export const LOCK_CONVERSATION = "select id from conversations where id = $1 and tenant_id = $2 and user_id = $3 for update";

/** Lets no turn of the conversation end during the transaction; false when it is gone. */
export async function lockConversation(transaction: Queryable, conversation: OwnedConversation): Promise<boolean> {
  return (await transaction.query({ name: "conversation-lock", text: LOCK_CONVERSATION, values: ownedValues(conversation) })).length === 1;
}
