import type { OwnedConversation, Owner, OwnerScope } from "../../owner.ts";
import { toPage, type Page, type PageRequest } from "../../page.ts";
import type { Database } from "../database/database.ts";
import { isBeforeCursor, OWNED_ID, ownedValues, pageValues, placeOrStart } from "../database/sql-parts.ts";

/** A conversation without its messages. */
export interface StoredConversation {
  id: string;
  userId: string;
  sessionId: string;
  messageCount: number;
  createdAt: Date;
  updatedAt: Date;
}

/** With the beginning of its oldest message. */
export interface ListedConversation extends StoredConversation {
  firstMessage: string | null;
}

/** Reads conversations. */
export interface ConversationStore {
  find(scope: OwnerScope, conversationId: string): Promise<StoredConversation | null>;
  /** The newest first, in an order that turns do not change. */
  list(owner: Owner, page: PageRequest): Promise<Page<ListedConversation>>;
}

const CONVERSATION = `id, user_id as "userId", session_id as "sessionId", message_count as "messageCount", created_at as "createdAt", updated_at as "updatedAt"`;

const LIST = `
select ${CONVERSATION}, (
  select left(content, 120) from messages where conversation_id = conversations.id order by messages.created_at, messages.id limit 1
) as "firstMessage"
from conversations
where tenant_id = $1 and user_id = $2
  and ${isBeforeCursor(3)}
order by created_at desc, id desc limit $5`;

/** The conversations of a database. */
export function makeConversationStore(database: Database): ConversationStore {
  return {
    async find({ tenantId, userId }, conversationId) {
      const text = `select ${CONVERSATION} from conversations where id = $1 and tenant_id = $2 and ($3::text is null or user_id = $3)`;
      const values = [conversationId, tenantId, userId];
      return (await database.query<StoredConversation>({ name: "conversation-find", text, values }))[0] ?? null;
    },

    async list({ tenantId, userId }, page) {
      const values = [tenantId, userId, ...pageValues(page)];
      return toPage(await database.query<ListedConversation>({ name: "conversation-list", text: LIST, values }), page.limit);
    },
  };
}

export type Role = "user" | "assistant";

/** A stored message. */
export interface StoredMessage {
  id: string;
  role: Role;
  content: string;
  /** False for an answer that was cut short. */
  completed: boolean;
  /** Estimated. */
  tokenCount: number;
  metadata: Record<string, unknown>;
  createdAt: Date;
}

/** Reads messages, incomplete ones too. */
export interface MessageStore {
  /** By `(created_at, id)`. */
  list(conversation: OwnedConversation, page: PageRequest, order?: "oldest_first" | "newest_first"): Promise<Page<StoredMessage>>;
  /** One message and its owner. */
  find(scope: OwnerScope, messageId: string): Promise<{ userId: string; conversationId: string; message: StoredMessage } | null>;
}

const MESSAGE = `messages.id, role, content, completed, token_count as "tokenCount", metadata, messages.created_at as "createdAt"`;

const LIST_MESSAGES = {
  oldest_first: {
    name: "message-list",
    text: `select ${MESSAGE} from messages where conversation_id = ${OWNED_ID}
      and (created_at, id) > ${placeOrStart("$4::timestamptz", "$5::uuid")} order by created_at, id limit $6`,
  },
  newest_first: {
    name: "message-list-backwards",
    text: `select ${MESSAGE} from messages where conversation_id = ${OWNED_ID}
      and ${isBeforeCursor(4)} order by created_at desc, id desc limit $6`,
  },
};

const FIND_MESSAGE = `
select ${MESSAGE}, conversation_id as "conversationId", user_id as "userId" from messages join conversations on conversations.id = conversation_id
where messages.id = $1 and tenant_id = $2 and ($3::text is null or user_id = $3)`;

/** The messages of a database. */
export function makeMessageStore(database: Database): MessageStore {
  return {
    async list(conversation, page, order = "oldest_first") {
      const values = [...ownedValues(conversation), ...pageValues(page)];
      return toPage(await database.query<StoredMessage>({ ...LIST_MESSAGES[order], values }), page.limit);
    },

    async find({ tenantId, userId }, messageId) {
      const values = [messageId, tenantId, userId];
      const [row] = await database.query<StoredMessage & { conversationId: string; userId: string }>({
        name: "message-find",
        text: FIND_MESSAGE,
        values,
      });
      if (!row) return null;
      const { conversationId, userId: owner, ...message } = row;
      return { userId: owner, conversationId, message };
    },
  };
}

export type PromptMessage = Omit<StoredMessage, "completed" | "metadata">;

export const PROMPT_MESSAGE = `id, role, content, token_count as "tokenCount", created_at as "createdAt"`;

export const toPromptMessage = (row: Omit<PromptMessage, "createdAt"> & { createdAt: Date | string }): PromptMessage => {
  return { ...row, createdAt: new Date(row.createdAt) };
};
