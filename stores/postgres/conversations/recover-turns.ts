import type { Owner } from "../../owner.ts";
import type { Database } from "../database/database.ts";
import { lockOwnerShared } from "./locks.ts";
import type { BegunTurn, HeldTurn } from "./begin-turn.ts";
import { MIN_UUID } from "../database/sql-parts.ts";

/** No owner and no conversation: a closed turn says nothing about anyone. */
const NO_OWNER = `'', '', ${MIN_UUID}::uuid`;

/** Takes the id of the turn, unless it has begun. A delayed begin then fails for its id; a running one is waited for. */
const CLOSE_UNBEGUN = `
insert into turns (id, tenant_id, user_id, conversation_id, started_at, ended_at)
values ($1, ${NO_OWNER}, clock_timestamp(), clock_timestamp())
on conflict (id) do nothing`;

const FIND_BEGUN = `
select conversation_id as "conversationId", question_id as "messageId" from turns
where id = $1 and tenant_id = $2 and user_id = $3 and question_id is not null`;

/** Finds the turn of a `begin` whose reply was lost. Null: it has not begun, and can no longer begin. */
export async function findBegunTurn(
  database: Database,
  { tenantId, userId, turnId }: Owner & { turnId: string },
): Promise<BegunTurn | null> {
  await database.query({ name: "turn-close", text: CLOSE_UNBEGUN, values: [turnId] });
  // A new statement, to see what the first one waited for.
  return (await database.query<BegunTurn>({ name: "turn-begun", text: FIND_BEGUN, values: [turnId, tenantId, userId] }))[0] ?? null;
}

const LOCK_LEASE = "select from conversations where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4 for update";
const DELETE_MESSAGE = "delete from messages using turns where turns.id = $1 and messages.id = turns.question_id";
const RELEASE_LEASE = `
update conversations set turn_id = null, turn_lease_until = null, message_count = message_count - 1, updated_at = clock_timestamp() where id = $1`;

/** Rolls back a begun turn that nobody was told of: deletes its message and frees the conversation. */
export async function takeBackTurn(database: Database, { conversationId, turnId, ...owner }: HeldTurn): Promise<void> {
  await database.transaction(async (transaction) => {
    await lockOwnerShared(transaction, owner);
    const values = [conversationId, owner.tenantId, owner.userId, turnId];
    const held = await transaction.query({ name: "turn-back-hold", text: LOCK_LEASE, values });
    if (held.length === 0) return; // another turn holds it now
    await transaction.query({ name: "turn-back-message", text: DELETE_MESSAGE, values: [turnId] });
    await transaction.query({ name: "turn-back-give", text: RELEASE_LEASE, values: [conversationId] });
  });
}

const RELEASE_DEAD = `
update conversations set turn_id = null, turn_lease_until = null
from turns where turns.id = conversations.turn_id and turns.ended_at is null and turns.emptied_at is null`;

/**
 * Releases the leases of turns that died with the last process. Only for a database that no other process uses, before the first turn: a
 * running turn would lose its lease.
 */
export async function releaseDeadLeases(database: Database): Promise<void> {
  await database.query({ text: RELEASE_DEAD });
}
