import { AppError } from "../../../errors/app-error.ts";
import type { Database } from "../database/database.ts";
import { lockOwnerShared } from "./locks.ts";
import { KeyTaken, type TurnKey } from "../../../turn/key.ts";
import type { BeginTurn, BegunTurn } from "./turn-store.ts";

const LOCK = `
select conversations.id from turns join conversations on conversations.id = turns.conversation_id
where turns.tenant_id = $1 and turns.user_id = $2 and key_hash = $3
for update of conversations`;

/** A message behind the question counts when it is in a window: answers that were cut short are not. */
const LOOK = `
select turns.id, turns.conversation_id, question_id, outcome is not null as has_outcome, conversations.turn_id as holder,
  coalesce(turn_lease_until >= clock_timestamp(), false) as is_held,
  exists (
    select from messages later where later.conversation_id = asked.conversation_id
      and (later.created_at, later.id) > (asked.created_at, asked.id) and (later.role = 'user' or later.completed)
  ) as is_superseded
from turns join conversations on conversations.id = turns.conversation_id join messages asked on asked.id = question_id
where turns.tenant_id = $1 and turns.user_id = $2 and key_hash = $3`;

const LEAVE_KEY = "update turns set key_hash = null, body_hash = null where id = $1";

const TAKE = `
with held as (
  update conversations set turn_id = $1::uuid, turn_lease_until = clock_timestamp() + $8 * interval '1 millisecond', updated_at = clock_timestamp()
  where id = $4::uuid
), asked as (
  update messages set metadata = metadata || jsonb_build_object('turn_id', $1::uuid) where id = $5::uuid
)
insert into turns (id, tenant_id, user_id, conversation_id, question_id, key_hash, body_hash, started_at)
values ($1::uuid, $2, $3, $4::uuid, $5::uuid, $6, $7, clock_timestamp())`;

interface LookedAt {
  id: string;
  conversation_id: string;
  question_id: string;
  has_outcome: boolean;
  holder: string | null;
  is_held: boolean;
  is_superseded: boolean;
}

/**
 * Takes the conversation for another attempt at the stored message of an earlier one, and moves the key to it; null while another turn holds
 * the conversation. Throws KeyTaken when the earlier attempt is no longer what it was, AppError `turn_superseded` when the conversation has
 * gone on since.
 */
export async function retryTurn(
  database: Database,
  { tenantId, userId, turnId, leaseMs }: BeginTurn,
  { keyHash, bodyHash, earlier }: TurnKey & { earlier: object },
): Promise<BegunTurn | null> {
  return database.transaction(async (transaction) => {
    const byKey = [tenantId, userId, keyHash];
    await lockOwnerShared(transaction, { tenantId, userId });
    await transaction.query({ name: "turn-retry-lock", text: LOCK, values: byKey });
    // As it is now that no turn of this conversation can begin or end.
    const [found] = await transaction.query<LookedAt>({ name: "turn-retry-look", text: LOOK, values: byKey });
    if (!found || found.id !== earlier.turnId || found.has_outcome !== earlier.hadOutcome) throw new KeyTaken();
    if (found.is_superseded) {
      throw new AppError(
        "turn_superseded",
        "The conversation has gone on since this message failed, so it cannot be answered in its place. Send it with a new Idempotency-Key.",
        { retryable: false },
      );
    }
    const isLeftByEarlier = earlier.isOverHere && found.holder === earlier.turnId;
    if (found.holder !== null && found.is_held && !isLeftByEarlier) return null;
    await transaction.query({ name: "turn-retry-leave", text: LEAVE_KEY, values: [found.id] });
    await transaction.query({
      name: "turn-retry-take",
      text: TAKE,
      values: [turnId, tenantId, userId, found.conversation_id, found.question_id, keyHash, bodyHash, leaseMs],
    });
    return { conversationId: found.conversation_id, messageId: found.question_id };
  });
}
