import type { Owner } from "../owner.ts";
import { toPage, type Page, type PageRequest } from "../page.ts";
import type { Database } from "./database.ts";

export interface StoredConversation {
  id: string;
  userId: string;
  sessionId: string;
  messageCount: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface ConversationStore {
  /** The conversation with this id in this tenant, whoever's it is; null when there is none. */
  find(tenantId: string, conversationId: string): Promise<StoredConversation | null>;
  /** A user's conversations, the newest created first: a stable order to page through while turns go on. */
  list(owner: Owner, page: PageRequest): Promise<Page<StoredConversation>>;
  /** Deletes the conversation with its messages; null when there is none, else how many messages went. */
  erase(conversation: Owner & { conversationId: string }): Promise<{ messages: number } | null>;
}

interface ConversationRow {
  id: string;
  user_id: string;
  session_id: string;
  message_count: number;
  created_at: Date;
  updated_at: Date;
}

function toConversation(row: ConversationRow): StoredConversation {
  return {
    id: row.id,
    userId: row.user_id,
    sessionId: row.session_id,
    messageCount: row.message_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

const COLUMNS = "id, user_id, session_id, message_count, created_at, updated_at";

const LIST = `
select ${COLUMNS} from conversations
where tenant_id = $1 and user_id = $2
  and (created_at, id) < (coalesce($3::timestamptz, 'infinity'), coalesce($4::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff'))
order by created_at desc, id desc limit $5`;

/** One snapshot for the whole statement: a message written meanwhile goes with the conversation's row, by the foreign key. */
const ERASE = `
with erased as (
  delete from conversations where id = $1 and tenant_id = $2 and user_id = $3 returning id
), messages as (
  delete from messages where conversation_id in (select id from erased) returning 1
)
select (select count(*) from erased)::int as conversations, (select count(*) from messages)::int as messages`;

export function makeConversationStore(database: Database): ConversationStore {
  return {
    async find(tenantId, conversationId) {
      const [row] = await database.query<ConversationRow>({
        name: "conversation-find",
        text: `select ${COLUMNS} from conversations where id = $1 and tenant_id = $2`,
        values: [conversationId, tenantId],
      });
      return row ? toConversation(row) : null;
    },

    async list({ tenantId, userId }, { limit, after }) {
      const rows = await database.query<ConversationRow>({
        name: "conversation-list",
        text: LIST,
        values: [tenantId, userId, after?.createdAt ?? null, after?.id ?? null, limit + 1],
      });
      return toPage(rows.map(toConversation), limit);
    },

    async erase({ conversationId, tenantId, userId }) {
      const [row] = await database.query<{ conversations: number; messages: number }>({
        name: "conversation-erase",
        text: ERASE,
        values: [conversationId, tenantId, userId],
      });
      return row?.conversations ? { messages: row.messages } : null;
    },
  };
}
