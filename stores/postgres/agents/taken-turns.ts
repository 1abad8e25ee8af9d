import { KEEP_ANSWERS } from "./decision-store.ts";
import { GOES_ON, MOST_ATTEMPTS, QUESTION_CHANNEL } from "../turns/question-rows.ts";
import type { Owner } from "../../../turn/owner.ts";
import type { AnswerValue, QuestionParts } from "../../../turn/question.ts";
import type { ResumedTurn } from "../../../turn/resumed-turn.ts";

/**
 * Ends the step of the question with its answer, for the audit, and reads all that the turn needs to go on. From `closed`, for `lease`
 * milliseconds and `runner`.
 */
export const takeSql = (lease: string, runner: string): string => `
taken as (
  update conversations set turn_runner = ${runner}::uuid, turn_lease_until = clock_timestamp() + ${lease}::float8 * interval '1 millisecond'
  from closed where conversations.id = closed.conversation_id and conversations.turn_id = closed.turn_id
), step as (
  update turn_steps set output = coalesce(closed.answer::text, closed.answered_by), ok = closed.answered_by = 'person', ended_at = clock_timestamp()
  from closed where turn_steps.turn_id = closed.turn_id and turn_steps.seq = closed.seq and ended_at is null
), ${KEEP_ANSWERS}, told as (
  select pg_notify('${QUESTION_CHANNEL}', ${lease}::float8::text) from closed
)
select closed.id, closed.turn_id as "turnId", conversations.tenant_id as "tenantId", conversations.user_id as "userId", closed.conversation_id as "conversationId", type, agent,
  closed.content, expires_at as "expiresAt", seq, answer, answer_text as "text", answered_by as "by", closed.resume as state, session_id as "sessionId", messages.id as "messageId",
  messages.content as message, (select count(*) from told)
from closed join conversations on conversations.id = closed.conversation_id join turns on turns.id = closed.turn_id join messages on messages.id = question_id`;

export const TAKE_DUE = `
with due as (
  select questions.id, answered_at, questions.turn_id from questions
  join conversations on conversations.id = questions.conversation_id and conversations.turn_id = questions.turn_id
  join turns on turns.id = questions.turn_id
  where questions.resume is not null and (answered_at is null or attempts < ${MOST_ATTEMPTS})
    and case when answered_at is null then expires_at <= clock_timestamp() else turn_lease_until < clock_timestamp() end
  order by expires_at limit $1
  for update of conversations skip locked
), closed as (
  update questions set answer = case when questions.answered_at is null then if_unanswered else answer end,
    answered_by = coalesce(answered_by, 'timeout'), answered_at = coalesce(questions.answered_at, clock_timestamp())
  from due where questions.id = due.id and questions.answered_at is not distinct from due.answered_at and resume is not null
  returning questions.*
), counted as (
  update turns set attempts = attempts + 1 from due where turns.id = due.turn_id and due.answered_at is not null
), ${takeSql("$2", "$3")}`;

/** Turns whose process died between two steps. The update looks again: the process may have gone on while the lock was waited for. */
export const TAKE_DEAD = `
with due as (
  select turns.id from turns join conversations on conversations.id = turns.conversation_id and conversations.turn_id = turns.id
  where resume is not null and ended_at is null and attempts < ${MOST_ATTEMPTS} and turn_lease_until < clock_timestamp()
  order by turn_lease_until limit $1
  for update of conversations skip locked
), dead as (
  update turns set attempts = attempts + 1 from due where turns.id = due.id and resume is not null and ended_at is null and attempts < ${MOST_ATTEMPTS}
  returning turns.*
), taken as (
  update conversations set turn_runner = $3::uuid, turn_lease_until = clock_timestamp() + $2::float8 * interval '1 millisecond'
  from dead where conversations.id = dead.conversation_id and conversations.turn_id = dead.id
), told as (
  select pg_notify('${QUESTION_CHANNEL}', $2::float8::text) from dead
)
select dead.id as "turnId", dead.tenant_id as "tenantId", dead.user_id as "userId", dead.conversation_id as "conversationId", resume as state,
  cancel_requested as "isCancelled", session_id as "sessionId", messages.id as "messageId", messages.content as message, (select count(*) from told)
from dead join conversations on conversations.id = dead.conversation_id join messages on messages.id = question_id`;

/** Ends the lease of a turn that another process can go on with, and tells the others. */
export const LET_GO = `
with freed as (
  update conversations set turn_lease_until = clock_timestamp() - interval '1 millisecond' from turns
  where conversations.id = $1 and conversations.tenant_id = $2 and conversations.user_id = $3 and turn_id = $4 and turn_runner is not distinct from $5::uuid
    and turns.id = $4 and turns.ended_at is null and ${GOES_ON}
  returning conversations.id
)
select pg_notify('${QUESTION_CHANNEL}', '0') from freed`;

export const UNTIL_DUE = `
with waiting as (
  select questions.id, case when answered_at is null then expires_at else turn_lease_until end as due_at,
    ended_at is not null or conversations.turn_id is distinct from turns.id
      or answered_at is not null and attempts >= ${MOST_ATTEMPTS} and turn_lease_until < clock_timestamp() as is_over
  from questions join turns on turns.id = questions.turn_id join conversations on conversations.id = questions.conversation_id
  where questions.resume is not null
), forgotten as (
  update questions set resume = null from waiting where questions.id = waiting.id and is_over
), running as (
  select turns.id, turn_lease_until as due_at,
    ended_at is not null or conversations.turn_id is distinct from turns.id or attempts >= ${MOST_ATTEMPTS} and turn_lease_until < clock_timestamp() as is_over
  from turns join conversations on conversations.id = turns.conversation_id where resume is not null
), ended as (
  update turns set resume = null from running where turns.id = running.id and is_over
)
select (extract(epoch from min(due_at) - clock_timestamp()) * 1000)::float8 as ms
from (select due_at, is_over from waiting union all select due_at, is_over from running) looked where not is_over`;

/** A turn that this process has taken. */
export type TakenTurn = Pick<ResumedTurn, "sessionId" | "messageId" | "message" | "state" | "turnId" | "conversationId"> & Owner;

export interface TakenRow extends QuestionParts, TakenTurn {
  seq: number;
  answer: AnswerValue;
  text: string | null;
  by: "person" | "timeout" | "cancelled";
}

export type TakenBy = Pick<ResumedTurn, "runner" | "takenAt">;
