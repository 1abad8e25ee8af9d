import { AppError } from "../../../errors/app-error.ts";
import { KeyTaken, type TurnKey } from "../../../turn/context.ts";
import { ONCE } from "../../../turn/outcome.ts";
import type { Citation } from "../../../turn/state.ts";
import type { Owner } from "../../../turn/owner.ts";
import type { TurnInput, TakenBack } from "../../../turn/turn-input.ts";
import type { Database, Queryable } from "../database/database.ts";
import { MIN_UUID } from "../database/sql-parts.ts";
import { onPathSql, sourcesSql } from "../paths/branch-path.ts";
import { lockOwnerShared } from "../paths/locks.ts";
import type { NewestMessages } from "./window-store.ts";

/** The parts of a turn's input that its begin stores or reads. */
export interface BeginTurn
  extends Owner, TakenBack, Pick<TurnInput, "sessionId" | "message" | "pictures" | "remember" | "chosen" | "continues"> {
  turnId: string;
  /** Milliseconds that the turn holds the conversation. */
  leaseMs: number;
  /** The tokens of the message with its pictures. */
  tokenCount: number;
  key?: TurnKey | undefined;
}

/** An answer that a turn goes on with. */
export interface ContinuedAnswer {
  answerId: string;
  question: string;
  text: string;
  completed: boolean;
  citations: Citation[];
}

export interface BegunTurn {
  conversationId: string;
  messageId: string;
  /** Null: they are to be loaded. */
  newest?: NewestMessages | null;
  continued?: ContinuedAnswer;
  /** The question of an answer that is given again. */
  question?: string;
  /** Null or undefined: none, or unknown. */
  lastPrompt?: { tokens: number; limit: number } | null;
}

export interface HeldTurn extends Owner {
  conversationId: string;
  turnId: string;
  /** The process that goes on with it; null or undefined: the first one. */
  runner?: string | null;
}

export interface AnswerToStore {
  messageId: string;
  /** Without this message the answer is not stored. */
  userMessageId?: string;
  /** The message is stored already, and gets this text. */
  grows?: boolean;
  content: string;
  completed: boolean;
  tokenCount: number;
  /** `turn_id` is added. */
  metadata: Record<string, unknown>;
}

export interface OutcomeToStore {
  outcome: object;
  /** Fields to replace when another turn has taken the conversation. */
  ifSuperseded: object;
  /** Who answers the next turns of the conversation; null: they are routed. Undefined: as before. */
  activeAgent?: string | null | undefined;
}

const LOCK_EARLIER = `
select conversations.id from turns join conversations on conversations.id = turns.conversation_id
where turns.tenant_id = $1 and turns.user_id = $2 and key_hash = $3
for update of conversations`;

/** Incomplete answers do not count as later messages: no window shows them. */
const FIND_EARLIER = `
select turns.id, turns.conversation_id, question_id, outcome is not null as has_outcome, conversations.turn_id as holder,
  coalesce(turn_lease_until >= clock_timestamp(), false) as is_held,
  exists (
    select from messages later where later.conversation_id in (select id from ${sourcesSql("conversations.id", "conversations.path")} source)
      and (later.created_at, later.id) > (asked.created_at, asked.id) and (later.role = 'user' or later.completed)
      and ${onPathSql("later", "conversations.path")}
  ) or not ${onPathSql("asked", "conversations.path")} as is_superseded
from turns join conversations on conversations.id = turns.conversation_id join messages asked on asked.id = question_id
where turns.tenant_id = $1 and turns.user_id = $2 and key_hash = $3`;

export const RELEASE_KEY = "update turns set key_hash = null, body_hash = null where id = $1";

const TAKE_OVER = `
with held as (
  update conversations set turn_id = $1::uuid, turn_runner = null, turn_lease_until = clock_timestamp() + $8 * interval '1 millisecond', updated_at = clock_timestamp()
  where id = $4::uuid
), asked as (
  update messages set metadata = metadata || jsonb_build_object('turn_id', $1::uuid) where id = $5::uuid
)
insert into turns (id, tenant_id, user_id, conversation_id, question_id, key_hash, body_hash, started_at, branch_id)
select $1::uuid, $2, $3, id, $5::uuid, $6, $7, clock_timestamp(), active_branch_id from conversations where id = $4::uuid`;

/** Gives the conversation to a turn that answers a stored question. */
export async function takeOver(
  transaction: Queryable,
  { turnId, tenantId, userId, leaseMs, key }: BeginTurn,
  { conversationId, messageId }: BegunTurn,
): Promise<void> {
  const values = [turnId, tenantId, userId, conversationId, messageId, key?.keyHash ?? null, key?.bodyHash ?? null, leaseMs];
  await transaction.query({ name: "turn-retry-take", text: TAKE_OVER, values });
}

interface EarlierTurn {
  id: string;
  conversation_id: string;
  question_id: string;
  has_outcome: boolean;
  holder: string | null;
  is_held: boolean;
  is_superseded: boolean;
}

/** Throws KeyTaken when the earlier attempt has changed, AppError `turn_superseded` when the conversation has gone on. */
export async function retryTurn(
  database: Database,
  turn: BeginTurn,
  { keyHash, earlier }: TurnKey & { earlier: object },
): Promise<BegunTurn | null> {
  const { tenantId, userId } = turn;
  return database.transaction(async (transaction) => {
    const byKey = [tenantId, userId, keyHash];
    await lockOwnerShared(transaction, { tenantId, userId });
    await transaction.query({ name: "turn-retry-lock", text: LOCK_EARLIER, values: byKey });
    const [found] = await transaction.query<EarlierTurn>({ name: "turn-retry-look", text: FIND_EARLIER, values: byKey });
    if (!found || found.id !== earlier.turnId || found.has_outcome !== earlier.hadOutcome) throw new KeyTaken();
    if (found.is_superseded) {
      throw new AppError(
        "turn_superseded",
        "The conversation has gone on since this message failed. Send the message again with a new Idempotency-Key.",
        { retryable: false },
      );
    }
    const isHeldByEarlier = earlier.isOverHere && found.holder === earlier.turnId;
    if (found.holder !== null && found.is_held && !isHeldByEarlier) return null;
    await transaction.query({ name: "turn-retry-leave", text: RELEASE_KEY, values: [found.id] });
    const begun = { conversationId: found.conversation_id, messageId: found.question_id };
    await takeOver(transaction, turn, begun);
    return begun;
  });
}

/** Takes the id of an unbegun turn, so that a delayed begin fails. Waits for a running begin. */
const CLOSE_UNBEGUN = `
insert into turns (id, tenant_id, user_id, conversation_id, started_at, ended_at)
values ($1, '', '', ${MIN_UUID}::uuid, clock_timestamp(), clock_timestamp())
on conflict (id) do nothing`;

const FIND_BEGUN = `
select conversation_id as "conversationId", question_id as "messageId" from turns
where id = $1 and tenant_id = $2 and user_id = $3 and question_id is not null`;

export async function findBegunTurn(
  database: Database,
  { tenantId, userId, turnId }: Owner & { turnId: string },
): Promise<BegunTurn | null> {
  await database.query({ name: "turn-close", text: CLOSE_UNBEGUN, values: [turnId] });
  // A new statement sees what the first one waited for.
  return (await database.query<BegunTurn>({ name: "turn-begun", text: FIND_BEGUN, values: [turnId, tenantId, userId] }))[0] ?? null;
}

const LOCK_LEASE =
  "select from conversations where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4 and turn_runner is not distinct from $5::uuid for update";
const DELETE_MESSAGE = "delete from messages using turns where turns.id = $1 and messages.id = turns.question_id";
/** Throws KeyTaken: the turn that holds the conversation may have this very key. */
export async function refuseTakenKey(database: Database, { tenantId, userId }: Owner, keyHash: string): Promise<void> {
  const text = "select from turns where tenant_id = $1 and user_id = $2 and key_hash = $3";
  const taken = await database.query({ name: "turn-key", text, values: [tenantId, userId, keyHash] });
  if (taken.length > 0) throw new KeyTaken();
}

const RELEASE_LEASE = `
with undescribed as (
  update conversation_agents set state_description = null where conversation_id = $1
)
update conversations set turn_id = null, turn_lease_until = null, message_count = message_count - 1, path_message_count = path_message_count - 1, rewrites = rewrites + 1, updated_at = clock_timestamp() where id = $1`;

const DELETE_EMPTY = `
delete from conversations where id = $1 and session_id like '${ONCE}%' and not exists (select from messages where conversation_id = $1)`;

export async function takeBackTurn(database: Database, { conversationId, turnId, runner = null, ...owner }: HeldTurn): Promise<void> {
  await database.transaction(async (transaction) => {
    await lockOwnerShared(transaction, owner);
    const values = [conversationId, owner.tenantId, owner.userId, turnId, runner];
    const held = await transaction.query({ name: "turn-back-hold", text: LOCK_LEASE, values });
    if (held.length === 0) return;
    await transaction.query({ name: "turn-back-decisions", text: "delete from decisions where turn_id = $1", values: [turnId] });
    await transaction.query({ name: "turn-back-message", text: DELETE_MESSAGE, values: [turnId] });
    await transaction.query({ name: "turn-back-give", text: RELEASE_LEASE, values: [conversationId] });
    await transaction.query({ name: "turn-back-empty", text: DELETE_EMPTY, values: [conversationId] });
  });
}

/** Turns that wait for an answer keep their leases. Those that another process goes on with are resumed at once. */
const RELEASE_DEAD = `
with dead as (
  select conversations.id, turns.resume is not null or exists (select from questions where questions.turn_id = turns.id and resume is not null) as goes_on
  from conversations join turns on turns.id = conversations.turn_id
  where turns.ended_at is null and turns.emptied_at is null and turn_lease_until < 'infinity'
)
update conversations set turn_id = case when goes_on then turn_id end, turn_lease_until = case when goes_on then clock_timestamp() end
from dead where dead.id = conversations.id`;

/** Releases the leases of a dead process. For a database that no other process uses, before the first turn. */
export async function releaseDeadLeases(database: Database): Promise<void> {
  await database.query({ text: RELEASE_DEAD });
}
