import type { Question } from "../../../turn/question.ts";
import { fromJson, GOES_ON, openQuestion, type QuestionJson } from "./question-rows.ts";
import type { OwnedConversation, Owner, OwnerScope } from "../../../turn/owner.ts";
import type { CallerCall } from "../../../turn/caller-tools.ts";
import { onPathSql } from "../paths/branch-path.ts";
import { partnerIdSql } from "../conversations/exchanges.ts";
import type { Database } from "../database/database.ts";
import { OWNED_ID, ownedValues } from "../database/sql-parts.ts";

const OUTCOME_LIFETIME = "24 hours";

/** Milliseconds between two clean-ups. */
const CLEANUP_INTERVAL_MS = 5 * 60_000;
/** Some ten milliseconds. */
const CLEANUP_LIMIT = 1_000;

export const CLEARED = "outcome = null, key_hash = null, body_hash = null, emptied_at = clock_timestamp()";

/** Closed turns that never began are deleted. */
const CLEAR_OLD_TURNS = `
with old as (
  select id, question_id from turns where emptied_at is null and started_at < clock_timestamp() - interval '${OUTCOME_LIFETIME}'
  order by started_at limit $1 for update skip locked
), closed as (
  delete from turns using old where turns.id = old.id and old.question_id is null
)
update turns set ${CLEARED} from old where turns.id = old.id and old.question_id is not null
returning turns.id`;

export async function clearOldTurns(database: Database): Promise<number> {
  return (await database.query({ name: "turns-empty", text: CLEAR_OLD_TURNS, values: [CLEANUP_LIMIT] })).length;
}

/** Returns a clean-up to call after each turn; most calls do nothing. It never throws. */
export function makeTurnCleanup(database: Database): () => Promise<void> {
  let due = performance.now() + CLEANUP_INTERVAL_MS;
  return async function cleanUpWhenDue() {
    if (performance.now() < due) return;
    due = performance.now() + CLEANUP_INTERVAL_MS;
    const emptied = await clearOldTurns(database).catch(() => 0);
    if (emptied === CLEANUP_LIMIT) due = 0;
  };
}

/** One attempt at answering a message. */
export interface TurnRecord extends Owner {
  id: string;
  conversationId: string;
  userMessageId: string;
  answerId: string | null;
  answer: string | null;
  /** Set for a request with an Idempotency-Key. */
  bodyHash: string | null;
  /** Null while it runs, or when its process died. */
  outcome: Record<string, unknown> | null;
  /** A process has it, or will resume it. */
  isHeld: boolean;
  /** What it waits for. */
  question: Question | null;
  /** The outcome has been cleared. */
  isGone: boolean;
  /** How often a process has begun it. */
  attempts: number;
  startedAt: Date;
  endedAt: Date | null;
}

/** A turn that ended with calls of its caller's tools, the last answer of its conversation. */
export interface TurnWithCalls {
  sessionId: string;
  question: string;
  /** As it is stored. */
  answer: string;
  calls: CallerCall[];
}

export const CANCEL_CHANNEL = "conversation_graph_cancel";

export interface TurnRecordStore {
  find(scope: OwnerScope, turnId: string): Promise<TurnRecord | null>;
  /** The owner's turns, in any order. */
  findAll(owner: Owner, turnIds: readonly string[]): Promise<TurnRecord[]>;
  /** The ids of a conversation's turns on any branch, newest first, among its newest `questions`. */
  listIds(conversation: OwnedConversation, questions: number): Promise<string[]>;
  findByKey(owner: Owner, keyHash: string): Promise<TurnRecord | null>;
  /** The turn that runs in a conversation, or waits for an answer. */
  findHeld(conversation: OwnedConversation): Promise<string | null>;
  /** The turn that runs in a session's conversation; null when none does or it waits for an answer. */
  findRunning(session: Owner & { sessionId: string }): Promise<string | null>;
  /** The turn with one of these calls, first in the session's, then in recently used conversations. */
  findCalled(owner: Owner, callIds: readonly string[], sessionId: string | null): Promise<TurnWithCalls | null>;
  /** Those of these turns that ended after this one began. */
  endedSince(owner: Owner, turnId: string, turnIds: readonly string[]): Promise<string[]>;
  /** Asks the process that runs it to stop; false when none does. */
  requestCancel(owner: Owner, turnId: string): Promise<boolean>;
  /** Stops the turn that holds the session's conversation, unless it has this very key. */
  interrupt(session: Owner & { sessionId: string }, keyHash: string | null): Promise<void>;
  clear(owner: Owner, turnId: string): Promise<void>;
}

const RECORD = `
select turns.id, turns.tenant_id as "tenantId", turns.user_id as "userId", turns.conversation_id as "conversationId", question_id as "userMessageId",
  answer_id as "answerId", answer.content as answer, body_hash as "bodyHash", outcome,
  coalesce(ended_at is null and conversations.turn_id = turns.id and (turn_lease_until >= clock_timestamp() or ${GOES_ON}), false) as "isHeld",
  ${openQuestion("turns.id")} as question,
  emptied_at is not null or started_at < clock_timestamp() - interval '${OUTCOME_LIFETIME}' as "isGone",
  attempts, started_at as "startedAt", ended_at as "endedAt"
from turns join conversations on conversations.id = turns.conversation_id
  and conversations.tenant_id = turns.tenant_id and conversations.user_id = turns.user_id
left join messages answer on answer.id = answer_id`;

const LIST_IDS = `
select turns.id from (
  select id from messages where conversation_id = ${OWNED_ID} and role = 'user' order by created_at desc, id desc limit $4
) asked join turns on question_id = asked.id
where turns.conversation_id = $1 order by turns.started_at desc, turns.id desc`;

const ENDED_SINCE = `
select id from turns where id = any($4::uuid[]) and tenant_id = $1 and user_id = $2
  and ended_at >= (select started_at from turns where id = $3 and tenant_id = $1 and user_id = $2)`;

const RUNNING = `
select turn_id as id from conversations
where tenant_id = $1 and user_id = $2 and session_id = $3 and turn_lease_until >= clock_timestamp() and turn_lease_until < 'infinity'`;

const MOST_LOOKED_THROUGH = 200;

const CALLED = `
select recent.session_id as "sessionId", asked.content as question, said.content as answer, outcome->'calls' as calls
from (
  select id, session_id, path from conversations
  where tenant_id = $1 and user_id = $2 and coalesce(turn_lease_until < clock_timestamp(), true)
  order by session_id is not distinct from $4::text desc, last_message_at desc limit ${MOST_LOOKED_THROUGH}
) recent
cross join lateral (
  select messages.* from messages where conversation_id = recent.id and ${onPathSql("messages", "recent.path")}
  order by created_at desc, id desc limit 1
) said
join messages asked on asked.id = ${partnerIdSql("said")}
join turns on turns.question_id = asked.id and turns.id::text = said.metadata->>'turn_id'
where exists (select from jsonb_array_elements(outcome->'calls') call where call->>'id' = any($3::text[]))
order by recent.session_id is not distinct from $4::text desc, said.created_at desc limit 1`;

const CANCEL = `
with asked as (
  update turns set cancel_requested = true
  from conversations
  where turns.id = $1 and turns.tenant_id = $2 and turns.user_id = $3 and ended_at is null
    and conversations.id = turns.conversation_id and conversations.turn_id = turns.id and (turn_lease_until >= clock_timestamp() or ${GOES_ON})
  returning turns.id
)
select pg_notify('${CANCEL_CHANNEL}', id::text) from asked`;

/** Does not tell a stopping turn again. */
const INTERRUPT = `
with asked as (
  update turns set cancel_requested = true
  from conversations
  where conversations.tenant_id = $1 and conversations.user_id = $2 and session_id = $3 and turn_lease_until >= clock_timestamp()
    and turns.id = conversations.turn_id and ended_at is null and not cancel_requested and (key_hash is null or key_hash is distinct from $4)
  returning turns.id
)
select pg_notify('${CANCEL_CHANNEL}', id::text) from asked`;

const EMPTY = `update turns set ${CLEARED} where id = $1 and tenant_id = $2 and user_id = $3`;

type RecordRow = Omit<TurnRecord, "question"> & { question: QuestionJson | null };

const fromRow = (row: RecordRow): TurnRecord => ({ ...row, question: row.question && fromJson(row.question) });
const toRecord = ([row]: RecordRow[]): TurnRecord | null => (row ? fromRow(row) : null);

export function makeTurnRecordStore(database: Database): TurnRecordStore {
  return {
    async find({ tenantId, userId }, turnId) {
      const text = `${RECORD} where turns.id = $1 and turns.tenant_id = $2 and ($3::text is null or turns.user_id = $3)`;
      return toRecord(await database.query<RecordRow>({ name: "turn-find", text, values: [turnId, tenantId, userId] }));
    },

    async endedSince({ tenantId, userId }, turnId, turnIds) {
      const statement = { name: "turns-ended-since", text: ENDED_SINCE, values: [tenantId, userId, turnId, [...turnIds]] };
      return (await database.query<{ id: string }>(statement)).map(({ id }) => id);
    },

    async findAll({ tenantId, userId }, turnIds) {
      if (turnIds.length === 0) return [];
      const text = `${RECORD} where turns.id = any($1::uuid[]) and turns.tenant_id = $2 and turns.user_id = $3`;
      return (await database.query<RecordRow>({ name: "turn-find-all", text, values: [turnIds, tenantId, userId] })).map(fromRow);
    },

    async listIds(conversation, questions) {
      const values = [...ownedValues(conversation), questions];
      return (await database.query<{ id: string }>({ name: "turn-list", text: LIST_IDS, values })).map(({ id }) => id);
    },

    async findByKey({ tenantId, userId }, keyHash) {
      const text = `${RECORD} where turns.tenant_id = $1 and turns.user_id = $2 and key_hash = $3`;
      return toRecord(await database.query<RecordRow>({ name: "turn-find-key", text, values: [tenantId, userId, keyHash] }));
    },

    async findRunning({ tenantId, userId, sessionId }) {
      const values = [tenantId, userId, sessionId];
      return (await database.query<{ id: string }>({ name: "turn-running", text: RUNNING, values }))[0]?.id ?? null;
    },

    async findHeld(conversation) {
      const text =
        "select turn_id as id from conversations where id = $1 and tenant_id = $2 and user_id = $3 and turn_lease_until >= clock_timestamp()";
      const [held] = await database.query<{ id: string | null }>({ name: "turn-held", text, values: ownedValues(conversation) });
      return held?.id ?? null;
    },

    async findCalled({ tenantId, userId }, callIds, sessionId) {
      const values = [tenantId, userId, callIds, sessionId];
      return (await database.query<TurnWithCalls>({ name: "turn-called", text: CALLED, values }))[0] ?? null;
    },

    async requestCancel({ tenantId, userId }, turnId) {
      return (await database.query({ name: "turn-cancel", text: CANCEL, values: [turnId, tenantId, userId] })).length === 1;
    },

    async interrupt({ tenantId, userId, sessionId }, keyHash) {
      await database.query({ name: "turn-interrupt", text: INTERRUPT, values: [tenantId, userId, sessionId, keyHash] });
    },

    async clear({ tenantId, userId }, turnId) {
      await database.query({ name: "turn-empty", text: EMPTY, values: [turnId, tenantId, userId] });
    },
  };
}
