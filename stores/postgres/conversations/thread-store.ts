import type { OwnedConversation, OwnerScope } from "../../owner.ts";
import type { Database, StatementValue } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";

/** A turn runs, or waits for an answer, or the newest one has failed, or nothing of this. */
export type ThreadStatus = "busy" | "interrupted" | "error" | "idle";

/** A conversation as LangGraph's clients list it. */
export interface StoredThread {
  id: string;
  userId: string;
  sessionId: string;
  title: string | null;
  metadata: Record<string, unknown>;
  status: ThreadStatus;
  createdAt: Date;
  updatedAt: Date;
  lastMessageAt: Date;
}

/** Null: any. */
export interface ThreadFilter {
  ids: readonly string[] | null;
  /** What its metadata holds at least. */
  metadata: Record<string, unknown>;
  status: ThreadStatus | null;
}

export interface ThreadOrder {
  by: "id" | "created_at" | "updated_at" | "status";
  order: "asc" | "desc";
  limit: number;
  offset: number;
}

/** Conversations of a user or a tenant, by what LangGraph's protocol asks for. */
export interface ThreadStore {
  find(scope: OwnerScope, id: string): Promise<StoredThread | null>;
  search(scope: OwnerScope, filter: ThreadFilter, order: ThreadOrder): Promise<StoredThread[]>;
  count(scope: OwnerScope, filter: ThreadFilter): Promise<number>;
  /** Adds to the metadata; a null takes a field away. Null when there is no such conversation. */
  addMetadata(conversation: OwnedConversation, metadata: Record<string, unknown>): Promise<StoredThread | null>;
}

/** How the newest turn has failed, as long as its outcome is kept. */
const FAILURE = `(
  select outcome->'error'->>'code' from messages join turns on question_id = messages.id
  where messages.conversation_id = conversations.id and role = 'user'
  order by messages.created_at desc, messages.id desc, started_at desc limit 1
)`;

const STATUS = `case when turn_id is not null and turn_lease_until = 'infinity' then 'interrupted'
  when turn_id is not null and turn_lease_until >= clock_timestamp() then 'busy'
  when ${FAILURE} <> 'turn_cancelled' then 'error' else 'idle' end`;

const THREAD = `id, user_id as "userId", session_id as "sessionId", title, metadata, ${STATUS} as status,
  created_at as "createdAt", updated_at as "updatedAt", last_message_at as "lastMessageAt"`;

const FOUND = `
from conversations
where tenant_id = $1 and ($2::text is null or user_id = $2) and ($3::uuid[] is null or id = any($3)) and metadata @> $4::jsonb
  and ($5::text is null or ${STATUS} = $5)`;

const ADD_METADATA = `
update conversations set metadata = jsonb_strip_nulls(metadata || $4::jsonb), updated_at = clock_timestamp()
where id = $1 and tenant_id = $2 and user_id = $3
returning ${THREAD}`;

const filterValues = ({ tenantId, userId }: OwnerScope, { ids, metadata, status }: ThreadFilter): StatementValue[] => [
  tenantId,
  userId,
  ids,
  JSON.stringify(metadata),
  status,
];

export function makeThreadStore(database: Database): ThreadStore {
  return {
    async find({ tenantId, userId }, id) {
      const text = `select ${THREAD} from conversations where id = $1 and tenant_id = $2 and ($3::text is null or user_id = $3)`;
      return (await database.query<StoredThread>({ name: "thread-find", text, values: [id, tenantId, userId] }))[0] ?? null;
    },

    search(scope, filter, { by, order, limit, offset }) {
      const text = `select ${THREAD} ${FOUND} order by ${by} ${order}, id ${order} limit $6 offset $7`;
      return database.query<StoredThread>({
        name: `thread-search-${by}-${order}`,
        text,
        values: [...filterValues(scope, filter), limit, offset],
      });
    },

    async count(scope, filter) {
      const statement = { name: "thread-count", text: `select count(*)::int as count ${FOUND}`, values: filterValues(scope, filter) };
      return (await database.query<{ count: number }>(statement))[0]?.count ?? 0;
    },

    async addMetadata(conversation, metadata) {
      const values = [...ownedValues(conversation), JSON.stringify(metadata)];
      return (await database.query<StoredThread>({ name: "thread-metadata", text: ADD_METADATA, values }))[0] ?? null;
    },
  };
}
