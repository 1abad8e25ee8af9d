import type { OwnedConversation } from "../../../turn/owner.ts";
import type { Database } from "../database/database.ts";
import { ownedValues } from "../database/sql-parts.ts";
import { messagesOfPathSql } from "../paths/branch-path.ts";
import { lockConversation } from "../paths/locks.ts";
import { wordsSql } from "./picture-store.ts";
import { saidBy } from "./said-by.ts";

export interface FirstExchange {
  userMessageId: string;
  question: string;
  /** Without thoughts. Null while there is no complete one, or it says nothing. */
  answer: string | null;
}

export interface TitleStore {
  /** The beginning of a conversation without a title; null when it has one, or has no question. */
  findUntitled(conversation: OwnedConversation): Promise<FirstExchange | null>;
  /** Writes nothing when there is a title by now, or the question was erased. */
  save(conversation: OwnedConversation, title: { title: string; userMessageId: string }): Promise<void>;
}

const firstSql = (content: string, where: string): string =>
  messagesOfPathSql({
    columns: `id, messages.created_at as "createdAt", ${content}`,
    conversationId: "conversations.id",
    path: "conversations.path",
    where,
    order: "asc",
    limit: "1",
  });

const FIND = `
select asked.id as "userMessageId", asked.content as question, (select content from (${firstSql("content", "role = 'assistant' and completed")}) answer) as answer
from conversations cross join lateral (${firstSql(`${wordsSql("messages")} as content`, "role = 'user'")}) asked
where conversations.id = $1 and tenant_id = $2 and user_id = $3 and title is null`;

/** Under the conversation's lock: an erase of the question has ended, or waits and removes the title. */
const SAVE = `
update conversations set title = $4, title_by = 'model'
where id = $1 and tenant_id = $2 and user_id = $3 and title is null and exists (select from messages where messages.id = $5)`;

/** Forgets the title when an exchange is erased: the title may quote it. */
export const FORGET_MODEL_TITLE = "title = case when title_by = 'model' then null else title end, title_by = nullif(title_by, 'model')";

export function makeTitleStore(database: Database): TitleStore {
  return {
    async findUntitled(conversation) {
      const [first] = await database.query<FirstExchange>({ name: "title-find", text: FIND, values: ownedValues(conversation) });
      return first ? { ...first, answer: saidBy("assistant", first.answer ?? "") || null } : null;
    },
    save: (conversation, { title, userMessageId }) =>
      database.transaction(async (transaction) => {
        if (!(await lockConversation(transaction, conversation))) return;
        await transaction.query({ name: "title-save", text: SAVE, values: [...ownedValues(conversation), title, userMessageId] });
      }),
  };
}
