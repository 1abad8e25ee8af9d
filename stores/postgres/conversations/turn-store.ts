import { AppError } from "../../../errors/app-error.ts";
import { storableJson } from "../../../text/storable-text.ts";
import type { Job } from "../../jobs/job.ts";
import { makeJobQueue, type JobQueue } from "../../jobs/job-queue.ts";
import type { Owner } from "../../owner.ts";
import type { Database, Queryable, Statement, StatementValue } from "../database/database.ts";
import { isUniqueViolation } from "../database/storage-errors.ts";
import { beginTurn, type BeginTurn, type BegunTurn, type HeldTurn } from "./begin-turn.ts";
import { ownerLock, shareOwner } from "./locks.ts";
import { findBegunTurn, takeBackTurn } from "./recover-turns.ts";
import { makeTurnCleanup } from "./turn-record-store.ts";

export interface AnswerToStore {
  messageId: string;
  /** The message it answers: when that has been erased, the answer is not stored. */
  questionId?: string;
  content: string;
  completed: boolean;
  tokenCount: number;
  /** `turn_id` is added. */
  metadata: Record<string, unknown>;
}

/** What a turn came to, for those who ask later. The text of the answer is in its message. */
export interface OutcomeToStore {
  outcome: object;
  /** Fields that are others when another turn has taken the conversation since. */
  ifSuperseded: object;
}

/**
 * `stored`: written as given, the lease is released. `superseded`: another turn has taken the conversation since, so what there is of
 * the answer was kept with `completed` false. `gone`: the conversation or the question was deleted, nothing was written.
 */
export type FinishOutcome = "stored" | "superseded" | "gone";

/** One turn at a time per conversation: a lease on the conversation's row, taken by compare-and-set. */
export interface TurnStore {
  /**
   * Gets or creates the conversation, takes its lease and stores the user's message, all or nothing; null while another turn holds it. With
   * the key of an earlier attempt no message is stored, see begin-turn.ts. Throws KeyTaken when a turn has this key.
   */
  begin(turn: BeginTurn): Promise<BegunTurn | null>;
  /** What became of a begin whose reply was lost: the turn as it began, or null, and then it never will. */
  findBegun(turn: Owner & { turnId: string }): Promise<BegunTurn | null>;
  /** Takes back a turn that has begun and of which nobody was told: its message goes, and the conversation is free. */
  takeBack(turn: HeldTurn): Promise<void>;
  /**
   * Holds on for another `leaseMs`; false when the lease was lost or the conversation is gone. Throws AppError `turn_cancelled`, and holds on,
   * when somebody asked to stop the turn.
   */
  renew(turn: HeldTurn, leaseMs: number): Promise<boolean>;
  /**
   * Stores the answer, if there is one, and the outcome, releases the lease and adds the jobs of this turn, in one transaction. Asked again
   * it changes nothing, and says what it said.
   */
  finish(turn: HeldTurn, answer: AnswerToStore | null, jobs?: readonly Job[], outcome?: OutcomeToStore): Promise<FinishOutcome>;
}

const RENEW = `
update conversations set turn_lease_until = clock_timestamp() + $5 * interval '1 millisecond'
where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4
returning (select cancel_requested from turns where turns.id = $4)`;

/** Locks the owner and the row before anything else: what `held` says stays true until the commit. */
const FINISH = `
with ${shareOwner(11)}, held as (
  select id, turn_id = $4 as still_held, $12::uuid is null or exists (select from messages where messages.id = $12) as is_asked from guard cross join conversations
  where id = $1 and tenant_id = $2 and user_id = $3
  for update of conversations
), released as (
  update conversations
    set turn_id = case when still_held then null else conversations.turn_id end,
        turn_lease_until = case when still_held then null else turn_lease_until end,
        message_count = message_count + case when is_asked then $5::int else 0 end,
        last_message_at = case when $5 = 1 and is_asked then greatest(clock_timestamp(), last_message_at + interval '1 millisecond') else last_message_at end,
        updated_at = clock_timestamp()
  from held where conversations.id = held.id
  returning conversations.id, last_message_at, still_held, is_asked
), stored as (
  insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at)
  select $6::uuid, id, 'assistant', $7, $8::boolean and coalesce(still_held, false), $9, $10::jsonb || jsonb_build_object('turn_id', $4::uuid), last_message_at from released where $5 = 1 and is_asked
), ended as (
  update turns
    set ended_at = clock_timestamp(), answer_id = $6::uuid,
        outcome = $13::jsonb || case when still_held then '{}' else $14::jsonb end
  from released where turns.id = $4 and turns.ended_at is null and is_asked
  returning turns.id
)
select coalesce(still_held, false) as still_held, is_asked, exists (select from ended) as has_ended_now from released`;

/** How a turn has ended, if it has: as it was told to, or as one that was superseded. */
const ENDED = `
select outcome = $2::jsonb and coalesce((select completed = $3 from messages where messages.id = answer_id), true) as is_as_told
from turns where id = $1 and ended_at is not null`;

/** Rolls back the answer to a question that is no longer there. */
class QuestionErased extends Error {}

async function isStored(transaction: Queryable, messageId: string): Promise<boolean> {
  return (await transaction.query({ name: "turn-question", text: "select from messages where id = $1", values: [messageId] })).length === 1;
}

const NO_OUTCOME: OutcomeToStore = { outcome: {}, ifSuperseded: {} };

export function makeTurnStore(database: Database, queue: JobQueue = makeJobQueue(database)): TurnStore {
  const emptyWhenDue = makeTurnCleanup(database);

  /** The outcome of an earlier try of the same call that was committed and whose reply was lost; null when there was none. */
  async function howItEnded(where: Queryable, values: StatementValue[]): Promise<FinishOutcome | null> {
    const [ended] = await where.query<{ is_as_told: boolean }>({ name: "turn-ended", text: ENDED, values });
    return ended ? (ended.is_as_told ? "stored" : "superseded") : null;
  }

  async function finishTurn(
    { conversationId, tenantId, userId, turnId }: HeldTurn,
    answer: AnswerToStore | null,
    jobs: readonly Job[] = [],
    told: OutcomeToStore = NO_OUTCOME,
  ): Promise<FinishOutcome> {
    const { messageId = null, content = "", completed = false, tokenCount = 0, metadata = {}, questionId = null } = answer ?? {};
    const owned = [conversationId, tenantId, userId, turnId];
    const statement: Statement = {
      name: "turn-finish",
      text: FINISH,
      values: [
        ...owned,
        answer ? 1 : 0,
        messageId,
        content,
        completed,
        tokenCount,
        JSON.stringify(metadata),
        ownerLock({ tenantId, userId }),
        questionId,
        storableJson(told.outcome),
        storableJson(told.ifSuperseded),
      ],
    };
    const ending = [turnId, storableJson(told.outcome), completed];
    async function run(where: Queryable): Promise<{ outcome: FinishOutcome; isAgain: boolean }> {
      const [row] = await where.query<{ still_held: boolean; is_asked: boolean; has_ended_now: boolean }>(statement);
      if (!row?.is_asked) return { outcome: "gone", isAgain: false };
      const earlier = row.still_held || row.has_ended_now ? null : await howItEnded(where, ending);
      return { outcome: earlier ?? (row.still_held ? "stored" : "superseded"), isAgain: earlier !== null };
    }
    try {
      if (!answer && jobs.length === 0) return (await run(database)).outcome;
      return await queue.transaction(async (transaction, jobTransaction) => {
        const { outcome, isAgain } = await run(transaction);
        // It may have waited for an erase of its question, which it has not seen: the next statement does.
        if (outcome === "superseded" && questionId !== null && !(await isStored(transaction, questionId))) throw new QuestionErased();
        if (outcome !== "gone" && !isAgain) await jobTransaction.add(jobs);
        return outcome;
      });
    } catch (error) {
      if (error instanceof QuestionErased) return "gone";
      if (!isUniqueViolation(error)) throw error;
      // The answer is stored already; this try was rolled back whole.
      return (await howItEnded(database, ending)) ?? "superseded";
    }
  }

  return {
    begin: (turn) => beginTurn(database, turn),
    findBegun: (turn) => findBegunTurn(database, turn),
    takeBack: (held) => takeBackTurn(database, held),

    async renew({ conversationId, tenantId, userId, turnId }, leaseMs) {
      const values = [conversationId, tenantId, userId, turnId, leaseMs];
      const [row] = await database.query<{ cancel_requested: boolean | null }>({ name: "turn-renew", text: RENEW, values });
      if (row?.cancel_requested)
        throw new AppError("turn_cancelled", "The turn was cancelled; what there is of the answer is kept as incomplete.");
      return row !== undefined;
    },

    async finish(...ending) {
      const outcome = await finishTurn(...ending);
      await emptyWhenDue();
      return outcome;
    },
  };
}
