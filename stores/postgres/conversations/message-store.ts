import type { OwnedConversation, OwnerScope } from "../../owner.ts";
import { toPage, type Page, type PageRequest } from "../../page.ts";
import type { Database } from "../database/database.ts";
import { MAX_UUID, MIN_UUID, OWNED_ID, pageValues } from "../database/sql-parts.ts";

export type Role = "user" | "assistant";

/** A stored message. */
export interface StoredMessage {
  id: string;
  role: Role;
  content: string;
  /** False for an answer that was cut short; such an answer is in no prompt. */
  completed: boolean;
  /** Estimated. */
  tokenCount: number;
  metadata: Record<string, unknown>;
  createdAt: Date;
}

/** By `(created_at, id)`. */
export type MessageOrder = "oldest_first" | "newest_first";

/** Reads messages. */
export interface MessageStore {
  /** All messages, incomplete ones too. */
  list(conversation: OwnedConversation, page: PageRequest, order?: MessageOrder): Promise<Page<StoredMessage>>;
  /** One message and its owner. */
  find(scope: OwnerScope, messageId: string): Promise<FoundMessage | null>;
}

/** A message and its owner. */
export interface FoundMessage {
  userId: string;
  conversationId: string;
  message: StoredMessage;
}

interface MessageRow {
  id: string;
  role: Role;
  content: string;
  completed: boolean;
  token_count: number;
  metadata: Record<string, unknown>;
  created_at: Date;
}

function toMessage(row: MessageRow): StoredMessage {
  const { id, role, content, completed, metadata } = row;
  return { id, role, content, completed, tokenCount: row.token_count, metadata, createdAt: row.created_at };
}

const COLUMNS = "messages.id, role, content, completed, token_count, metadata, messages.created_at";
const LIST = `
select ${COLUMNS} from messages
where conversation_id = ${OWNED_ID}
  and (messages.created_at, messages.id) > (coalesce($4::timestamptz, '-infinity'), coalesce($5::uuid, ${MIN_UUID}))
order by messages.created_at, messages.id limit $6`;

const LIST_BACKWARDS = `
select ${COLUMNS} from messages
where conversation_id = ${OWNED_ID}
  and (messages.created_at, messages.id) < (coalesce($4::timestamptz, 'infinity'), coalesce($5::uuid, ${MAX_UUID}))
order by messages.created_at desc, messages.id desc limit $6`;

const FIND = `
select ${COLUMNS}, conversation_id, user_id from messages join conversations on conversations.id = conversation_id
where messages.id = $1 and tenant_id = $2 and ($3::text is null or user_id = $3)`;

/** The messages of a database. */
export function makeMessageStore(database: Database): MessageStore {
  return {
    async list({ conversationId, tenantId, userId }, page, order = "oldest_first") {
      const rows = await database.query<MessageRow>({
        ...(order === "oldest_first" ? { name: "message-list", text: LIST } : { name: "message-list-backwards", text: LIST_BACKWARDS }),
        values: [conversationId, tenantId, userId, ...pageValues(page)],
      });
      return toPage(rows.map(toMessage), page.limit);
    },

    async find({ tenantId, userId }, messageId) {
      const [row] = await database.query<MessageRow & { conversation_id: string; user_id: string }>({
        name: "message-find",
        text: FIND,
        values: [messageId, tenantId, userId],
      });
      return row ? { userId: row.user_id, conversationId: row.conversation_id, message: toMessage(row) } : null;
    },
  };
}
