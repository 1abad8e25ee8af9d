import type { Question } from "../../../turn/question.ts";
import type { OwnedConversation, OwnerScope } from "../../../turn/owner.ts";
import { fromJson, openQuestion, type QuestionJson } from "./question-rows.ts";
import type { Database, StatementValue } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";
import { CHOSEN_ID, sessionOfChosen, namedSql } from "../conversations/conversation-store.ts";

/** A turn runs, waits for an answer, the newest one has failed, or none of these. */
export type ThreadStatus = "busy" | "interrupted" | "error" | "idle";

/** A conversation as LangGraph's clients list it. */
export interface StoredThread {
  /** The conversation's id, or the client's chosen one. */
  id: string;
  conversationId: string;
  userId: string;
  sessionId: string;
  title: string | null;
  metadata: Record<string, unknown>;
  status: ThreadStatus;
  waitsFor: { turnId: string; question: Question } | null;
  createdAt: Date;
  updatedAt: Date;
  lastMessageAt: Date;
}

/** Null: any. */
export interface ThreadFilter {
  ids: readonly string[] | null;
  /** Its metadata must contain these. */
  metadata: Record<string, unknown>;
  status: ThreadStatus | null;
}

export interface ThreadOrder {
  by: "id" | "created_at" | "updated_at" | "status";
  order: "asc" | "desc";
  limit: number;
  offset: number;
}

/** Lists conversations of a user or a tenant as LangGraph's protocol does. */
export interface ThreadStore {
  find(scope: OwnerScope, id: string): Promise<StoredThread | null>;
  search(scope: OwnerScope, filter: ThreadFilter, order: ThreadOrder): Promise<StoredThread[]>;
  count(scope: OwnerScope, filter: ThreadFilter): Promise<number>;
  /**
   * Adds to the metadata; a null removes a field. Null when there is no such conversation, or when the metadata would grow beyond `most`
   * bytes.
   */
  addMetadata(conversation: OwnedConversation, metadata: Record<string, unknown>, most: number): Promise<StoredThread | null>;
}

/** How the newest turn failed, while its outcome is kept. */
const FAILURE = `(
  select outcome->'error'->>'code' from messages join turns on question_id = messages.id
  where messages.conversation_id = conversations.id and role = 'user'
  order by messages.created_at desc, messages.id desc, started_at desc limit 1
)`;

const INTERRUPTED = "turn_id is not null and turn_lease_until = 'infinity'";
const BUSY = "turn_id is not null and turn_lease_until >= clock_timestamp() and turn_lease_until < 'infinity'";

const STATUS = `case when ${INTERRUPTED} then 'interrupted' when ${BUSY} then 'busy'
  when ${FAILURE} <> 'turn_cancelled' then 'error' else 'idle' end`;

const THREAD = `coalesce(${CHOSEN_ID}, conversations.id::text) as id, conversations.id as "conversationId", user_id as "userId", session_id as "sessionId", title, metadata, ${STATUS} as status,
  turn_id as "turnId", case when ${INTERRUPTED} then ${openQuestion("conversations.turn_id")} end as question,
  created_at as "createdAt", updated_at as "updatedAt", last_message_at as "lastMessageAt"`;

const FOUND = `
from conversations
where tenant_id = $1 and ($2::text is null or user_id = $2) and ($3::uuid[] is null or id = any($3)
  or session_id = any(array(select '${sessionOfChosen("")}' || id from unnest($3) chosen (id)))) and metadata @> $4::jsonb
  and case $5::text when 'interrupted' then ${INTERRUPTED} when 'busy' then ${BUSY} else $5 is null or ${STATUS} = $5 end`;

const ADDED = "(metadata || $4::jsonb) - array(select key from jsonb_each($4::jsonb) where value = 'null')";

const ADD_METADATA = `
update conversations set metadata = ${ADDED}, updated_at = clock_timestamp()
where id = $1 and tenant_id = $2 and user_id = $3 and octet_length((${ADDED})::text) <= greatest($5, octet_length(metadata::text))
returning ${THREAD}`;

interface ThreadRow extends Omit<StoredThread, "waitsFor"> {
  turnId: string | null;
  question: QuestionJson | null;
}

const toStored = ({ turnId, question, ...row }: ThreadRow): StoredThread => {
  return { ...row, waitsFor: turnId !== null && question ? { turnId, question: fromJson(question) } : null };
};

const filterValues = ({ tenantId, userId }: OwnerScope, { ids, metadata, status }: ThreadFilter): StatementValue[] => [
  tenantId,
  userId,
  ids,
  JSON.stringify(metadata),
  status,
];

export function makeThreadStore(database: Database): ThreadStore {
  const list = async (name: string, text: string, values: StatementValue[]): Promise<StoredThread[]> =>
    (await database.query<ThreadRow>({ name, text, values })).map(toStored);

  return {
    async find({ tenantId, userId }, id) {
      return (await list("thread-find", namedSql(THREAD), [id, tenantId, userId, sessionOfChosen(id)]))[0] ?? null;
    },

    search(scope, filter, { by, order, limit, offset }) {
      const text = `select ${THREAD} ${FOUND} order by ${by} ${order}, conversations.id ${order} limit $6 offset $7`;
      return list(`thread-search-${by}-${order}`, text, [...filterValues(scope, filter), limit, offset]);
    },

    async count(scope, filter) {
      const statement = { name: "thread-count", text: `select count(*)::int as count ${FOUND}`, values: filterValues(scope, filter) };
      return (await database.query<{ count: number }>(statement))[0]?.count ?? 0;
    },

    async addMetadata(conversation, metadata, most) {
      return (await list("thread-metadata", ADD_METADATA, [...ownedValues(conversation), JSON.stringify(metadata), most]))[0] ?? null;
    },
  };
}
