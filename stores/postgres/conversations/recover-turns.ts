import type { Owner } from "../../owner.ts";
import type { Database } from "../database/database.ts";
import { lockOwnerShared } from "./locks.ts";
import type { BegunTurn, HeldTurn } from "./begin-turn.ts";

/** The id of a conversation that nobody has, and an owner whom nobody is: a closed turn tells of no one. */
const NO_OWNER = "'', '', '00000000-0000-0000-0000-000000000000'::uuid";

/**
 * Takes the id of the turn, unless the turn has begun. A begin that is still on its way then fails for its id; one that is at work is waited for.
 */
const CLOSE = `
insert into turns (id, tenant_id, user_id, conversation_id, started_at, ended_at)
values ($1, ${NO_OWNER}, clock_timestamp(), clock_timestamp())
on conflict (id) do nothing`;

const LOOK = `
select conversation_id as "conversationId", question_id as "messageId" from turns
where id = $1 and tenant_id = $2 and user_id = $3 and question_id is not null`;

/** What became of a begin whose reply was lost: the turn as it began, or null, and then it never will. */
export async function findBegunTurn(
  database: Database,
  { tenantId, userId, turnId }: Owner & { turnId: string },
): Promise<BegunTurn | null> {
  await database.query({ name: "turn-close", text: CLOSE, values: [turnId] });
  // A statement of its own: it sees what the one before has waited for.
  return (await database.query<BegunTurn>({ name: "turn-begun", text: LOOK, values: [turnId, tenantId, userId] }))[0] ?? null;
}

const HOLD = "select from conversations where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4 for update";
const TAKE_MESSAGE = "delete from messages using turns where turns.id = $1 and messages.id = turns.question_id";
const GIVE_BACK = `
update conversations set turn_id = null, turn_lease_until = null, message_count = message_count - 1, updated_at = clock_timestamp() where id = $1`;

/** Takes back a turn that has begun and of which nobody was told: its message goes, and the conversation is free. */
export async function takeBackTurn(database: Database, { conversationId, turnId, ...owner }: HeldTurn): Promise<void> {
  await database.transaction(async (transaction) => {
    await lockOwnerShared(transaction, owner);
    const values = [conversationId, owner.tenantId, owner.userId, turnId];
    const held = await transaction.query({ name: "turn-back-hold", text: HOLD, values });
    if (held.length === 0) return; // another turn goes on from it
    await transaction.query({ name: "turn-back-message", text: TAKE_MESSAGE, values: [turnId] });
    await transaction.query({ name: "turn-back-give", text: GIVE_BACK, values: [conversationId] });
  });
}

const FREE = `
update conversations set turn_id = null, turn_lease_until = null
from turns where turns.id = conversations.turn_id and turns.ended_at is null and turns.emptied_at is null`;

/**
 * Frees the conversations whose turns were cut off when the last process died, before their leases are over. Only for a database that no other
 * process uses, before this one's first turn: a turn that runs would lose its conversation.
 */
export async function releaseDeadLeases(database: Database): Promise<void> {
  await database.query({ text: FREE });
}
