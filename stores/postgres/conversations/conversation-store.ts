import type { Owner, OwnerScope } from "../../owner.ts";
import { toPage, type Page, type PageRequest } from "../../page.ts";
import type { Database } from "../database/database.ts";
import { isBeforeCursor, pageValues } from "../database/sql-parts.ts";

/** A conversation without its messages. */
export interface StoredConversation {
  id: string;
  userId: string;
  sessionId: string;
  messageCount: number;
  createdAt: Date;
  /** When a turn, an import or an erase last changed it. */
  updatedAt: Date;
}

/** A conversation in a list, with the beginning of its oldest message; null without one. */
export interface ListedConversation extends StoredConversation {
  firstMessage: string | null;
}

/** Reads conversations. */
export interface ConversationStore {
  /** The conversation with this id; null when there is none in this scope. */
  find(scope: OwnerScope, conversationId: string): Promise<StoredConversation | null>;
  /** A user's conversations, newest first: a stable order for paging while turns run. */
  list(owner: Owner, page: PageRequest): Promise<Page<ListedConversation>>;
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

/** Enough to recognise a conversation. */
const FIRST_CHARACTERS = 120;
const LIST = `
select ${COLUMNS}, (
  select left(content, ${FIRST_CHARACTERS}) from messages where conversation_id = conversations.id order by messages.created_at, messages.id limit 1
) as first_message
from conversations
where tenant_id = $1 and user_id = $2
  and ${isBeforeCursor(3)}
order by created_at desc, id desc limit $5`;

/** The conversations of a database. */
export function makeConversationStore(database: Database): ConversationStore {
  return {
    async find({ tenantId, userId }, conversationId) {
      const [row] = await database.query<ConversationRow>({
        name: "conversation-find",
        text: `select ${COLUMNS} from conversations where id = $1 and tenant_id = $2 and ($3::text is null or user_id = $3)`,
        values: [conversationId, tenantId, userId],
      });
      return row ? toConversation(row) : null;
    },

    async list({ tenantId, userId }, page) {
      const rows = await database.query<ConversationRow & { first_message: string | null }>({
        name: "conversation-list",
        text: LIST,
        values: [tenantId, userId, ...pageValues(page)],
      });
      return toPage(
        rows.map((row) => ({ ...toConversation(row), firstMessage: row.first_message })),
        page.limit,
      );
    },
  };
}
