import { turnCancelled } from "../../../turn/outcome.ts";
import { storableJson } from "../../../text/storable-text.ts";
import type { Job } from "../../jobs/job.ts";
import { addJobsSql, jobsValue } from "../../jobs/add-jobs.ts";
import { makeJobQueue, type JobQueue } from "../../jobs/job-queue.ts";
import type { Owner } from "../../../turn/owner.ts";
import type { Database, Queryable, StatementValue } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";
import { isUniqueViolation } from "../database/storage-errors.ts";
import { ADD_USED, usedSql } from "../conversations/conversation-usage.ts";
import { beginTurn } from "./begin-turn.ts";
import { findContinued, growAnswer } from "./continue-answer.ts";
import {
  type AnswerToStore,
  type BeginTurn,
  type BegunTurn,
  findBegunTurn,
  type HeldTurn,
  type OutcomeToStore,
  takeBackTurn,
} from "./recover-turn.ts";
import { ownerLock, shareOwner } from "../paths/locks.ts";
import { makeTurnCleanup } from "./turn-record-store.ts";
import type { WindowRequest } from "./window-store.ts";

/**
 * `stored`: the lease was released. `superseded`: another turn has the conversation, so the answer has `completed` false. `gone`:
 * conversation or question was deleted, `taken`: another process goes on with the turn; nothing was written.
 */
export type FinishOutcome = "stored" | "superseded" | "gone" | "taken";

/** One turn at a time per conversation, by a lease. */
export interface TurnStore {
  /**
   * Gets or creates the conversation, takes its lease and stores the user's message, all or nothing; null while another turn holds it.
   * - The key of an earlier attempt retries that attempt's message.
   * - `continues` takes up the question of the last answer again.
   * - One of TakenBack starts a new branch, which becomes active.
   * - `window` mostly brings the newest messages along.
   * Throws AppError `invalid_request` when `continues` is not the last answer, `not_found` or `invalid_request` when the conversation has
   * no such message to take back, and KeyTaken when another turn has this key.
   */
  begin(turn: BeginTurn, window?: Pick<WindowRequest, "atLeast" | "useSummary">): Promise<BegunTurn | null>;
  /** Looks for a `begin` whose reply was lost. Null: it has not begun, and no longer can. */
  findBegun(turn: Owner & Pick<BeginTurn, "turnId" | "continues">): Promise<BegunTurn | null>;
  /** Deletes the message of a begun turn and frees the conversation, which goes too when it was made for this turn. */
  takeBack(turn: HeldTurn): Promise<void>;
  /**
   * Extends the lease by `leaseMs`; false when it was lost. Throws AppError `turn_cancelled`, with the lease extended, when a cancel was
   * requested.
   */
  renew(turn: HeldTurn, leaseMs: number): Promise<boolean>;
  /**
   * Stores answer and outcome, releases the lease and adds the jobs, all or nothing. A superseded turn lets no answer grow. A repeated call
   * changes nothing and returns the same. `startAfter`: the seconds that a job waits; default none.
   */
  finish(
    turn: HeldTurn,
    answer: AnswerToStore | null,
    jobs?: readonly Job[],
    outcome?: OutcomeToStore,
    startAfter?: (job: Job) => number,
  ): Promise<FinishOutcome>;
}

/** Serves a late renewal: a turn that waits for an answer keeps its conversation. */
const RENEW = `
update conversations set turn_lease_until = case when turn_lease_until = 'infinity' then turn_lease_until else clock_timestamp() + $5 * interval '1 millisecond' end
where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4 and turn_runner is not distinct from $6::uuid
returning (select cancel_requested from turns where turns.id = $4)`;

/** Without $15 only a turn that still holds its conversation: no erase came between, so one statement sees all. */
const FINISH = `
with ${shareOwner(11)}, held as (
  select id, turn_id = $4 as still_held, turn_id = $4 and turn_runner is distinct from $16::uuid as is_taken, $12::uuid is null or exists (select from messages where messages.id = $12) as is_asked from guard cross join conversations
  where id = $1 and tenant_id = $2 and user_id = $3
  for update of conversations
), ${usedSql("$13", "$4")}, released as (
  update conversations
    set ${ADD_USED},
        turn_id = case when still_held then null else conversations.turn_id end,
        turn_lease_until = case when still_held then null else turn_lease_until end,
        message_count = message_count + case when is_asked then $5::int else 0 end,
        path_message_count = case when still_held then path_message_count + case when is_asked then $5::int else 0 end end,
        last_message_at = case when $5 = 1 and is_asked then greatest(clock_timestamp(), last_message_at + interval '1 millisecond') else last_message_at end,
        active_agent = case when still_held and $17::boolean then $18 else active_agent end,
        updated_at = clock_timestamp()
  from held left join used on true where conversations.id = held.id and not is_taken and (still_held and is_asked or $15::boolean)
  returning conversations.id, last_message_at, still_held, is_asked, active_branch_id
), stored as (
  insert into messages (id, conversation_id, role, content, completed, token_count, metadata, created_at, branch_id)
  select $6::uuid, id, 'assistant', $7, $8::boolean and coalesce(still_held, false), $9, $10::jsonb || jsonb_build_object('turn_id', $4::uuid) || case when still_held then '{}' else jsonb_strip_nulls(jsonb_build_object('error', $14::jsonb#>'{error,code}')) end, last_message_at,
    case when still_held then active_branch_id else (select branch_id from turns where turns.id = $4) end
  from released where $5 = 1 and is_asked
), ended as (
  update turns
    set ended_at = clock_timestamp(), answer_id = $6::uuid,
        resume = null, outcome = $13::jsonb || case when still_held then '{}' else $14::jsonb end
  from released where turns.id = $4 and turns.ended_at is null and is_asked
  returning turns.id
), ${addJobsSql("$19", "released")}
select coalesce(still_held, false) as still_held, is_asked, exists (select from ended) as has_ended_now, false as is_taken, (select count(*) from told) from released
union all select true, true, false, true, 0 from held where is_taken and $15::boolean`;

const ENDED = `
select outcome = $2::jsonb and coalesce((select completed = $3 from messages where messages.id = answer_id), true) as is_same
from turns where id = $1 and ended_at is not null`;

interface EndedRow {
  still_held: boolean;
  is_asked: boolean;
  has_ended_now: boolean;
  is_taken: boolean;
}

class QuestionErased extends Error {}

export function makeTurnStore(database: Database, queue: JobQueue = makeJobQueue(database)): TurnStore {
  const emptyWhenDue = makeTurnCleanup(database);

  async function findOutcome(where: Queryable, values: StatementValue[]): Promise<FinishOutcome> {
    const [ended] = await where.query<{ is_same: boolean }>({ name: "turn-ended", text: ENDED, values });
    return ended?.is_same ? "stored" : "superseded";
  }

  async function finishTurn(
    held: HeldTurn,
    answer: AnswerToStore | null,
    jobs: readonly Job[] = [],
    { outcome: stored, ifSuperseded, activeAgent }: OutcomeToStore = { outcome: {}, ifSuperseded: {} },
    startAfter?: (job: Job) => number,
  ): Promise<FinishOutcome> {
    const { messageId = null, content = "", completed = false, tokenCount = 0, metadata = {}, userMessageId = null } = answer ?? {};
    const grows = answer?.grows === true;
    const message = [answer && !grows ? 1 : 0, messageId, content, completed, tokenCount, storableJson(metadata)];
    const outcomes = [storableJson(stored), storableJson(ifSuperseded)];
    const values = [...ownedValues(held), held.turnId, ...message, ownerLock(held), userMessageId, ...outcomes];
    const endedAs = [held.turnId, storableJson(stored), completed];
    const end = async (where: Queryable, isHeld: boolean, withJobs: readonly Job[]): Promise<EndedRow | undefined> => {
      const statement = {
        name: "turn-finish",
        text: FINISH,
        values: [...values, !isHeld, held.runner ?? null, activeAgent !== undefined, activeAgent ?? null, jobsValue(withJobs, startAfter)],
      };
      return (await where.query<EndedRow>(statement))[0];
    };
    async function endWithoutLease(where: Queryable): Promise<{ outcome: FinishOutcome; isRepeat: boolean }> {
      const row = await end(where, false, []);
      if (!row?.is_asked) return { outcome: "gone", isRepeat: false };
      if (row.is_taken) return { outcome: "taken", isRepeat: true };
      if (row.still_held) return { outcome: "stored", isRepeat: false };
      if (row.has_ended_now) return { outcome: "superseded", isRepeat: false };
      return { outcome: await findOutcome(where, endedAs), isRepeat: true };
    }
    try {
      const isStored = grows
        ? await queue.transaction(async (transaction, jobTransaction) => {
            return (await growAnswer(transaction, jobTransaction, held, answer)) && (await end(transaction, true, jobs)) !== undefined;
          })
        : await end(database, true, jobs);
      if (isStored) return "stored";
      return await queue.transaction(async (transaction, jobTransaction) => {
        const { outcome, isRepeat } = await endWithoutLease(transaction);
        if (outcome === "superseded" && userMessageId !== null) {
          // The statement may have waited for an erase of its question; only a new one sees that.
          const asked = await transaction.query({
            name: "turn-question",
            text: "select from messages where id = $1",
            values: [userMessageId],
          });
          if (asked.length === 0) throw new QuestionErased();
        }
        if (outcome === "superseded") {
          const recount = { name: "turn-recount", text: "update branches set message_count = null where conversation_id = $1" };
          await transaction.query({ ...recount, values: [held.conversationId] });
        }
        if (outcome !== "gone" && !isRepeat) await jobTransaction.add(jobs, startAfter);
        return outcome;
      });
    } catch (error) {
      if (error instanceof QuestionErased) return "gone";
      if (!isUniqueViolation(error)) throw error;
      return findOutcome(database, endedAs);
    }
  }

  return {
    begin: (turn, window) => beginTurn(database, queue, turn, window),
    async findBegun(turn) {
      const begun = await findBegunTurn(database, turn);
      if (!begun || typeof turn.continues !== "string") return begun;
      return { ...begun, continued: await findContinued(database, turn, begun.conversationId, turn.continues) };
    },
    takeBack: (held) => takeBackTurn(database, held),

    async renew(held, leaseMs) {
      const values = [...ownedValues(held), held.turnId, leaseMs, held.runner ?? null];
      const [row] = await database.query<{ cancel_requested: boolean | null }>({ name: "turn-renew", text: RENEW, values });
      if (row?.cancel_requested) throw turnCancelled();
      return row !== undefined;
    },

    async finish(...args) {
      const outcome = await finishTurn(...args);
      await emptyWhenDue();
      return outcome;
    },
  };
}
