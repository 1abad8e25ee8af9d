import { v7 as uuidv7 } from "uuid";
import { storableJson } from "../../../text/storable-text.ts";
import { type Question, type NewQuestion, contentOf, type QuestionParts, shownTool, toQuestion } from "../../../turn/question.ts";
import type { ResumedTurn, WaitingState, GivenAnswer } from "../../../turn/resumed-turn.ts";
import { addJobsSql, jobsValue } from "../../jobs/add-jobs.ts";
import type { Owner, OwnerScope } from "../../../turn/owner.ts";
import { type Cursor, type Page, type PageRequest, toPage } from "../../page.ts";
import { ownerLock, shareOwner } from "../paths/locks.ts";
import type { HeldTurn } from "../turns/recover-turn.ts";
import type { Database, StatementValue } from "../database/database.ts";
import { MAX_UUID, ownedValues, pageValues } from "../database/sql-parts.ts";
import { LET_GO, TAKE_DEAD, TAKE_DUE, type TakenBy, type TakenRow, type TakenTurn, takeSql, UNTIL_DUE } from "./taken-turns.ts";
import { QUESTION_CHANNEL } from "../turns/question-rows.ts";
import { placeOf } from "./step-store.ts";

export interface AskedQuestion extends NewQuestion {
  id: string;
  agent: string;
  /** See Step. */
  path: readonly string[];
  task: number;
  seq: number;
  resume: WaitingState;
}

export interface StoredQuestion extends Owner {
  turnId: string;
  conversationId: string;
  question: Question;
  answeredBy: "person" | "timeout" | "cancelled" | null;
  /** It waits for an answer, and one would count. */
  isOpen: boolean;
  askedAt: Date;
}

export interface QuestionStore {
  /**
   * Stores the question and lets go of the turn. Returns when it expires; null when the turn no longer holds its conversation. Repeatable.
   */
  ask(turn: HeldTurn, question: AskedQuestion): Promise<Date | null>;
  find(scope: OwnerScope, turnId: string, questionId: string): Promise<StoredQuestion | null>;
  /** Open ones, newest first. */
  list(owner: Owner, page: PageRequest): Promise<Page<StoredQuestion & Cursor>>;
  /** The turn of a conversation that waits for an answer. */
  waitingIn(session: Owner & { sessionId: string }): Promise<StoredQuestion | null>;
  /** Answers an open question of the owner and takes its turn; null when somebody, or its end, was faster. */
  answer(owner: Owner, questionId: string, answer: GivenAnswer, leaseMs: number): Promise<ResumedTurn | null>;
  /** Closes the open question of a turn and takes the turn, to end it; null when it does not wait. */
  cancel(owner: Owner, turnId: string, leaseMs: number): Promise<ResumedTurn | null>;
  /** Takes turns whose question has expired, or whose process died: after an answer, or between an agent's steps. */
  takeDue(limit: number, leaseMs: number): Promise<ResumedTurn[]>;
  /** Lets another process go on with a running turn; false: none can. */
  letGo(turn: HeldTurn): Promise<boolean>;
  /** Milliseconds until `takeDue` may find something, or null. Deletes what ended turns no longer need. */
  untilDue(): Promise<number | null>;
}

/** $1 to $4 are the held turn's. */
const ASK = `
with held as (
  select id from conversations where id = $1 and tenant_id = $2 and user_id = $3 and turn_id = $4 and turn_runner is not distinct from $14::uuid for update
), before as (
  update questions set resume = null from held where questions.turn_id = $4 and questions.id <> $5 and resume is not null
), running as (
  update turns set resume = null from held where turns.id = $4 and resume is not null
), asked as (
  insert into questions (id, turn_id, conversation_id, seq, type, agent, content, if_unanswered, resume, asked_at, expires_at)
  select $5::uuid, $4, held.id, $6, $7, $8, $9::jsonb, $10::jsonb, $11::jsonb, clock_timestamp(), clock_timestamp() + $12::float8 * interval '1 millisecond' from held
  on conflict (id) do nothing
  returning expires_at
), step as (
  insert into turn_steps (turn_id, seq, conversation_id, agent, path, task, kind, name, arguments, tokens, started_at, runner)
  select $4, $6, $1, $8, $16::text[], $17::int, 'question', $7, $13::jsonb, 0, clock_timestamp(), $14::uuid from asked
  on conflict do nothing
), waits as (
  update conversations set turn_lease_until = 'infinity' from asked where id = $1
), woken as (
  select pg_notify('${QUESTION_CHANNEL}', $12::float8::text) from asked
), ${addJobsSql("$15", "asked")}
select expires_at as "expiresAt", (select count(*) from woken), (select count(*) from told) from asked
union all select expires_at, 0, 0 from questions where id = $5 and turn_id = $4`;

const STORED = `
select questions.id, questions.turn_id as "turnId", tenant_id as "tenantId", user_id as "userId", questions.conversation_id as "conversationId", type, agent, content,
  expires_at as "expiresAt", asked_at as "askedAt", answered_by as "answeredBy",
  answered_at is null and expires_at > clock_timestamp() and conversations.turn_id is not distinct from questions.turn_id as "isOpen"
from questions join conversations on conversations.id = questions.conversation_id`;

/** Whether a question can be shown to its person. */
const OPEN = "answered_at is null and conversations.turn_id = questions.turn_id and expires_at > clock_timestamp()";

const LIST = `${STORED}
where tenant_id = $1 and user_id = $2 and ${OPEN} and (asked_at, questions.id) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::uuid, ${MAX_UUID}))
order by asked_at desc, questions.id desc limit $5`;

/** Locks the conversation first, as everywhere; rechecks the question once its row is locked. */
const ANSWER = `
with ${shareOwner(5)}, held as (
  select conversations.id, tenant_id, user_id, conversations.turn_id from guard cross join conversations
  where id = (select conversation_id from questions where id = $1) and tenant_id = $2 and user_id = $3
  for update of conversations
), closed as (
  update questions set answer = $6::jsonb, answer_text = $7, answered_by = 'person', answered_at = clock_timestamp(),
    resume = jsonb_set(resume, '{given}', resume->'given' || $9::jsonb)
  from held where questions.id = $1 and questions.conversation_id = held.id and questions.turn_id = held.turn_id
    and answered_at is null and expires_at > clock_timestamp() and resume is not null
  returning questions.*
), allowed as (
  insert into permissions as kept (id, tenant_id, user_id, agent, tool, digest, created_at)
  select $8::uuid, $2, $3, agent, content#>>'{tool,name}', content#>>'{tool,digest}', clock_timestamp() from closed where $8::uuid is not null
  on conflict (tenant_id, user_id, agent, tool) do update set digest = excluded.digest, created_at = excluded.created_at
), ${takeSql("$4", "$10")}`;

const CANCEL = `
with ${shareOwner(5)}, held as (
  select conversations.id from guard cross join conversations
  where tenant_id = $2 and user_id = $3 and turn_id = $1 for update of conversations
), closed as (
  update questions set answered_by = 'cancelled', answered_at = clock_timestamp()
  from held where questions.turn_id = $1 and questions.conversation_id = held.id and answered_at is null and resume is not null
  returning questions.*
), ${takeSql("$4", "$6")}`;

interface QuestionRow extends Owner, QuestionParts {
  turnId: string;
  conversationId: string;
}

interface StoredRow extends QuestionRow, Pick<StoredQuestion, "answeredBy" | "isOpen" | "askedAt"> {}

const toStored = (row: StoredRow) => ({ ...row, question: toQuestion(row), createdAt: row.askedAt });

function afterAnswer({ seq, answer, text, by, ...row }: TakenRow, taken: TakenBy): ResumedTurn {
  const answered = by === "cancelled" ? null : { question: toQuestion(row), asked: row.content.tool ?? null, seq, value: answer, text, by };
  return { ...row, ...taken, answered, isCancelled: by === "cancelled" };
}

/** `isTold`: a job tells of each question. */
export function makeQuestionStore(database: Database, { isTold = false }: { isTold?: boolean } = {}): QuestionStore {
  /** `values` come before the runner. */
  async function take<Row>(name: string, text: string, values: StatementValue[], toResumed: (row: Row, by: TakenBy) => ResumedTurn) {
    const by = { runner: uuidv7(), takenAt: performance.now() };
    return (await database.query<Row>({ name, text, values: [...values, by.runner] })).map((row) => toResumed(row, by));
  }

  return {
    async ask(turn, { id, type, agent, path: given, task: givenBy, seq, resume, ifUnanswered, timeoutMs, ...asked }) {
      const { path, task } = placeOf(given, givenBy);
      const content = { ...contentOf({ type, ifUnanswered, timeoutMs, ...asked }), ...(path ? { path } : {}) };
      const { question, tool, sign_in, options, allow_multiple, required } = content;
      const how = { options, allow_multiple, required, timeout_ms: timeoutMs };
      const about = storableJson({
        question_id: id,
        question,
        ...(tool && { tool: shownTool(tool) }),
        ...(sign_in && { sign_in }),
        ...how,
      });
      const { tenantId, userId, turnId } = turn;
      // Only the caller gets calls of its own tools.
      const jobs = jobsValue(isTold && type !== "client_tool" ? [{ kind: "tell_question", tenantId, userId, turnId, questionId: id }] : []);
      const jsons = [storableJson(content), ifUnanswered === null ? null : storableJson(ifUnanswered), storableJson(resume)];
      const values: StatementValue[] = [
        ...ownedValues(turn),
        turn.turnId,
        id,
        seq,
        type,
        agent,
        ...jsons,
        timeoutMs,
        about,
        turn.runner ?? null,
        jobs,
      ];
      values.push(path ? [...path] : null, task ?? null);
      return (await database.query<{ expiresAt: Date }>({ name: "question-ask", text: ASK, values }))[0]?.expiresAt ?? null;
    },

    async find({ tenantId, userId }, turnId, questionId) {
      const text = `${STORED} where questions.id = $1 and questions.turn_id = $2 and tenant_id = $3 and ($4::text is null or user_id = $4)`;
      const [row] = await database.query<StoredRow>({ name: "question-find", text, values: [questionId, turnId, tenantId, userId] });
      return row ? toStored(row) : null;
    },

    async list({ tenantId, userId }, page) {
      const rows = await database.query<StoredRow>({ name: "questions-list", text: LIST, values: [tenantId, userId, ...pageValues(page)] });
      return toPage(rows.map(toStored), page.limit);
    },

    async waitingIn({ tenantId, userId, sessionId }) {
      const text = `${STORED} where tenant_id = $1 and user_id = $2 and session_id = $3 and answered_at is null and conversations.turn_id = questions.turn_id`;
      const [row] = await database.query<StoredRow>({ name: "question-waiting", text, values: [tenantId, userId, sessionId] });
      return row ? toStored(row) : null;
    },

    async answer(owner, questionId, { value, text, allowAlways, givenAnew = {} }, leaseMs) {
      const given = [value === null ? null : storableJson(value), text, allowAlways ? uuidv7() : null, storableJson(givenAnew)];
      const values = [questionId, owner.tenantId, owner.userId, leaseMs, ownerLock(owner), ...given];
      return (await take("question-answer", ANSWER, values, afterAnswer))[0] ?? null;
    },

    async cancel(owner, turnId, leaseMs) {
      const values = [turnId, owner.tenantId, owner.userId, leaseMs, ownerLock(owner)];
      return (await take("question-cancel", CANCEL, values, afterAnswer))[0] ?? null;
    },

    async takeDue(limit, leaseMs) {
      const due = await take("questions-take", TAKE_DUE, [limit, leaseMs], afterAnswer);
      const left = limit - due.length;
      if (left === 0) return due;
      const afterDeath = (row: TakenTurn & { isCancelled: boolean }, by: TakenBy): ResumedTurn => ({ ...row, ...by, answered: null });
      return [...due, ...(await take("turns-take", TAKE_DEAD, [left, leaseMs], afterDeath))];
    },

    async letGo(turn) {
      const values = [...ownedValues(turn), turn.turnId, turn.runner ?? null];
      return (await database.query({ name: "turn-let-go", text: LET_GO, values })).length === 1;
    },

    async untilDue() {
      return (await database.query<{ ms: number | null }>({ name: "questions-until", text: UNTIL_DUE }))[0]?.ms ?? null;
    },
  };
}
