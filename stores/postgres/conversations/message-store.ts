import type { OwnedConversation, Owner, OwnerScope } from "../../../turn/owner.ts";
import { toPage, type Page, type PageRequest } from "../../page.ts";
import type { Database } from "../database/database.ts";
import { messagesOfPathSql, onAnyPathSql, pathOf, unknownLimit } from "../paths/branch-path.ts";
import { VERSIONS, type VersionsRow } from "../paths/message-versions.ts";
import { isAgainSql, partnerIdSql } from "./exchanges.ts";
import { isBeforeCursor, OWNED_ID, ownedValues, pageValues, placeOrStart } from "../database/sql-parts.ts";
import { attachmentsSql, type StoredAttachment, wordsSql } from "./picture-store.ts";
import { saidBy, toSaid } from "./said-by.ts";

export type Role = "user" | "assistant";

export interface Rating {
  value: 1 | -1;
  comment: string | null;
  ratedAt: Date;
}

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
  rating: Rating | null;
  attachments: StoredAttachment[];
  createdAt: Date;
}

/** The alternatives of a message on its path, itself included, oldest first; `index` is its own place. */
export interface MessageVersions {
  index: number;
  count: number;
  messageIds: string[];
}

export type ListedMessage = StoredMessage & {
  versions?: MessageVersions;
  /** The answers on other branches, oldest first, when a question has none on the path. */
  otherAnswers?: string[];
};

export type MessageOrder = "oldest_first" | "newest_first";

export interface FoundMessage {
  userId: string;
  conversationId: string;
  message: StoredMessage;
}

/** Reads messages, incomplete ones too, and rates them. */
export interface MessageStore {
  /** Lists by `(created_at, id)`, on the active path or another one: see `BranchStore.findPath`. */
  list(conversation: OwnedConversation, page: PageRequest, order?: MessageOrder, path?: string | null): Promise<Page<ListedMessage>>;
  find(scope: OwnerScope, messageId: string): Promise<FoundMessage | null>;
  /** Finds messages of the owner, or of the tenant, on any branch and in any order. */
  findAll(scope: OwnerScope, messageIds: readonly string[]): Promise<FoundMessage[]>;
  /** The messages of exchanges on a path, question first, without thoughts. Pairs as for `EpisodeStore.load`. */
  findExchanges(owner: Owner, pairs: readonly (readonly [string, string])[]): Promise<Map<string, FoundMessage[]>>;
  /** Null when there is no such answer. `before` is the earlier value. */
  rate(
    scope: OwnerScope,
    messageId: string,
    rating: Omit<Rating, "ratedAt">,
  ): Promise<{ role: Role; before: number | null; rating: Rating | null } | null>;
  removeRating(scope: OwnerScope, messageId: string): Promise<boolean>;
}

const MESSAGE = `messages.id, role, content, completed, token_count as "tokenCount", messages.metadata, messages.created_at as "createdAt",
  value, comment, rated_at as "ratedAt", ${attachmentsSql("messages")} as attachments`;
const RATED_MESSAGES = "messages left join message_ratings on message_id = messages.id";

type MessageRow = Omit<StoredMessage, "rating" | "attachments"> & { attachments: StoredAttachment[] | null } & {
  [Field in keyof Rating]: Rating[Field] | null;
};

function toMessage<Row extends MessageRow>({ value, comment, ratedAt, attachments, ...message }: Row) {
  return { ...message, rating: value === null || ratedAt === null ? null : { value, comment, ratedAt }, attachments: attachments ?? [] };
}

type FoundRow = MessageRow & { conversationId: string; userId: string };

function toFound(row: FoundRow): FoundMessage {
  const { conversationId, userId, ...message } = toMessage(row);
  return { userId, conversationId, message };
}

const PATH = `coalesce($7::jsonb, ${pathOf("$1")})`;
const LISTED = `${MESSAGE}, ${pathOf("$1")} is not null as "isBranched"`;

const listSql = (where: string, order: "asc" | "desc"): string =>
  messagesOfPathSql({
    columns: LISTED,
    from: RATED_MESSAGES,
    conversationId: OWNED_ID,
    path: PATH,
    where,
    order,
    limit: unknownLimit("$6"),
  });

const LIST_MESSAGES = {
  oldest_first: {
    name: "message-list",
    text: listSql(`(created_at, id) > ${placeOrStart("$4::timestamptz", "$5::uuid")}`, "asc"),
  },
  newest_first: {
    name: "message-list-backwards",
    text: listSql(isBeforeCursor(4), "desc"),
  },
};

const OF_SCOPE = "messages.id = $1 and tenant_id = $2 and ($3::text is null or user_id = $3)";

const FIND_MESSAGE = `
select ${MESSAGE}, messages.conversation_id as "conversationId", user_id as "userId"
from ${RATED_MESSAGES} join conversations on conversations.id = messages.conversation_id
where ${OF_SCOPE}`;
const FIND_MESSAGES = FIND_MESSAGE.replace("messages.id = $1", "messages.id = any($1::uuid[])");

const FIND_EXCHANGES = `
select said.id as "exchangeId", ${MESSAGE}, messages.conversation_id as "conversationId", user_id as "userId"
from (
  select pair.asked_id as id, answer.id as answer_id, case when ${isAgainSql("answer")} then ${partnerIdSql("answer")} else pair.asked_id end as question_id
  from unnest($1::uuid[], $4::uuid[]) as pair (asked_id, answer_id) join messages answer on answer.id = pair.answer_id
  where ${onAnyPathSql("answer", pathOf("answer.conversation_id"))}
) said
join messages on messages.id in (said.answer_id, said.question_id) left join message_ratings on message_id = messages.id
join conversations on conversations.id = messages.conversation_id
where tenant_id = $2 and user_id = $3 and ${onAnyPathSql("messages", "path")}
order by role desc`;

/** The lock waits for an erase of the message. */
const RATE = `
with found as (
  select messages.id, conversation_id, role from messages join conversations on conversations.id = conversation_id where ${OF_SCOPE}
  for key share of messages
), before as (
  select value from message_ratings where message_id = $1
), stored as (
  insert into message_ratings (message_id, conversation_id, value, comment, rated_at)
  select id, conversation_id, $4::smallint, $5, clock_timestamp() from found where role = 'assistant'
  on conflict (message_id) do update set value = excluded.value, comment = excluded.comment, rated_at = excluded.rated_at
  returning value, comment, rated_at
)
select role, (select value from before) as before, stored.value, comment, rated_at as "ratedAt" from found left join stored on true`;

const REMOVE_RATING = `
with found as (
  select messages.id from messages join conversations on conversations.id = conversation_id where ${OF_SCOPE}
), removed as (
  delete from message_ratings using found where message_id = found.id
)
select id from found`;

/** The messages of a database. */
export function makeMessageStore(database: Database): MessageStore {
  return {
    async list(conversation, page, order = "oldest_first", path = null) {
      const values = [...ownedValues(conversation), ...pageValues(page), path];
      const rows = await database.query<MessageRow & { isBranched: boolean }>({ ...LIST_MESSAGES[order], values });
      let hasBranches = false;
      const listed = rows.map(({ isBranched, ...row }) => {
        hasBranches ||= isBranched;
        return toMessage(row);
      });
      const { items, next } = toPage(listed, page.limit);
      if (!hasBranches) return { items, next };
      const [first, last] = order === "oldest_first" ? [items[0], items.at(-1)] : [items.at(-1), items[0]];
      const places = [first?.createdAt ?? null, first?.id ?? null, last?.createdAt ?? null, last?.id ?? null];
      const beside = [...ownedValues(conversation), items.map(({ id }) => id), ...places, path];
      const found = await database.query<VersionsRow>({ name: "message-versions", text: VERSIONS, values: beside });
      const [answers, versions] = [true, false].map((isUnanswered) => {
        return new Map(found.filter((row) => row.isUnanswered === isUnanswered).map(({ id, messageIds }) => [id, messageIds]));
      });
      const withVersions = (message: StoredMessage): ListedMessage => {
        const [messageIds, otherAnswers] = [versions?.get(message.id), message.role === "user" && answers?.get(message.id)];
        return {
          ...message,
          ...(messageIds ? { versions: { index: messageIds.indexOf(message.id), count: messageIds.length, messageIds } } : {}),
          ...(otherAnswers ? { otherAnswers } : {}),
        };
      };
      return { items: items.map(withVersions), next };
    },

    async find({ tenantId, userId }, messageId) {
      const values = [messageId, tenantId, userId];
      const [row] = await database.query<FoundRow>({ name: "message-find", text: FIND_MESSAGE, values });
      return row ? toFound(row) : null;
    },

    async findAll({ tenantId, userId }, messageIds) {
      if (messageIds.length === 0) return [];
      const values = [messageIds, tenantId, userId];
      return (await database.query<FoundRow>({ name: "message-find-all", text: FIND_MESSAGES, values })).map(toFound);
    },

    async findExchanges({ tenantId, userId }, pairs) {
      if (pairs.length === 0) return new Map();
      const values = [pairs.map(([asked]) => asked), tenantId, userId, pairs.map(([, answer]) => answer)];
      const rows = await database.query<FoundRow & { exchangeId: string }>({ name: "message-exchanges", text: FIND_EXCHANGES, values });
      const found = new Map<string, FoundMessage[]>();
      for (const { exchangeId, ...row } of rows) {
        found.set(exchangeId, [...(found.get(exchangeId) ?? []), toFound({ ...row, content: saidBy(row.role, row.content) })]);
      }
      return found;
    },

    async rate({ tenantId, userId }, messageId, { value, comment }) {
      const [row] = await database.query<{ role: Role; before: number | null } & { [Field in keyof Rating]: Rating[Field] | null }>({
        name: "message-rate",
        text: RATE,
        values: [messageId, tenantId, userId, value, comment],
      });
      if (!row) return null;
      const { role, before, ratedAt } = row;
      return { role, before, rating: ratedAt === null ? null : { value, comment, ratedAt } };
    },

    async removeRating({ tenantId, userId }, messageId) {
      const values = [messageId, tenantId, userId];
      return (await database.query({ name: "message-unrate", text: REMOVE_RATING, values })).length === 1;
    },
  };
}

/** Its content has a mark for pictures (see `wordsWithPictures`) and no thoughts: an answer of thoughts alone is empty. */
export type PromptMessage = Omit<StoredMessage, "completed" | "metadata" | "rating" | "attachments"> & { pictureCount: number };

export const PROMPT_MESSAGE = `id, role, ${wordsSql("messages")} as content, token_count as "tokenCount", created_at as "createdAt",
  picture_count as "pictureCount"`;

export const toPromptMessage = (row: Omit<PromptMessage, "createdAt"> & { createdAt: Date | string }): PromptMessage => {
  return { ...toSaid(row), createdAt: new Date(row.createdAt) };
};
