import type { OwnedConversation, Owner, OwnerScope } from "../../../turn/owner.ts";
import { toPage, type Page, type PageRequest } from "../../page.ts";
import type { Database } from "../database/database.ts";
import { storableJson } from "../../../text/storable-text.ts";
import { messagesOfPathSql, PATH_MESSAGES } from "../paths/branch-path.ts";
import { ownerLock, shareOwner } from "../paths/locks.ts";
import { wordsSql } from "./picture-store.ts";
import { isBeforeCursor, ownedValues, pageValues } from "../database/sql-parts.ts";

const CHOSEN = "thread:";

/**
 * The session of a conversation whose id a client of LangGraph's protocol has chosen. It is a name of its owner, so it reveals nothing
 * about others.
 */
export const sessionOfChosen = (id: string): string => `${CHOSEN}${id}`;

/** SQL: the chosen id, or null. */
export const CHOSEN_ID = `substring(session_id from '^${CHOSEN}([0-9a-f-]{36})$')`;

/** A conversation without its messages. */
export interface StoredConversation {
  id: string;
  userId: string;
  sessionId: string;
  messageCount: number;
  createdAt: Date;
  updatedAt: Date;
}

export interface ListedConversation extends StoredConversation {
  title: string | null;
  pinned: boolean;
  archived: boolean;
  metadata: Record<string, unknown>;
  /** Answers the next turns after a handoff; null: they are routed. */
  activeAgent: string | null;
  /** The origin of a fork and the last message that it shares; null when it is no fork or the origin was erased. */
  forkedFrom: { conversationId: string; messageId: string } | null;
  firstAsked: string | null;
  firstMessage: string | null;
  lastMessage: string | null;
}

/** Left-out fields stay. A null title removes a person's title. */
export interface ConversationChanges {
  title?: string | null | undefined;
  pinned?: boolean | undefined;
  archived?: boolean | undefined;
  metadata?: Record<string, unknown> | undefined;
}

/** Null: either. */
export interface ConversationFilter {
  pinned: boolean | null;
  archived: boolean | null;
  /** Each must stand in the title, or without one in the user's first words. Default: none. */
  words?: string[];
}

/** Reads conversations, and changes what lists show of them. */
export interface ConversationStore {
  /** Makes one without messages. False when its id or session is taken. */
  create(owner: Owner, conversation: { id: string; sessionId: string; metadata: Record<string, unknown> }): Promise<boolean>;
  /** Finds by its id, or by the id that a client of LangGraph's protocol has chosen. */
  find(scope: OwnerScope, conversationId: string): Promise<StoredConversation | null>;
  /** The one with this id, else the oldest of this session. */
  findNamed(scope: OwnerScope, name: { id: string; sessionId: string }): Promise<StoredConversation | null>;
  /** Sets another session, which must be free, and other metadata. */
  rename(conversation: OwnedConversation, name: { sessionId: string; metadata: Record<string, unknown> }): Promise<void>;
  findOfSession(session: Owner & { sessionId: string }): Promise<string | null>;
  /** As in a list. */
  show(scope: OwnerScope, conversationId: string): Promise<ListedConversation | null>;
  /** Newest first, in an order that neither turns nor changes alter. */
  list(owner: Owner, page: PageRequest, filter?: ConversationFilter): Promise<Page<ListedConversation>>;
  change(conversation: OwnedConversation, changes: ConversationChanges): Promise<ListedConversation | null>;
}

const CONVERSATION = `id, user_id as "userId", session_id as "sessionId", ${PATH_MESSAGES} as "messageCount", created_at as "createdAt", updated_at as "updatedAt"`;

/** SQL: the beginning of the first or last message on the path of a row of `conversations`. */
export const beginningSql = (order: "asc" | "desc", where = "true"): string => `(
  select beginning.words from (${messagesOfPathSql({
    columns: `id, messages.created_at as "createdAt", left(${wordsSql("messages")}, 120) as words`,
    conversationId: "conversations.id",
    path: "conversations.path",
    where,
    order,
    limit: "1",
  })}) beginning)`;

const FORKED_FROM = `(
  select json_build_object('conversationId', origin_id, 'messageId', message_id) from forks where forks.conversation_id = conversations.id and origin_id is not null)`;

const LISTED = `${CONVERSATION}, title, pinned, archived, metadata, active_agent as "activeAgent", ${FORKED_FROM} as "forkedFrom", ${beginningSql("asc", "role = 'user'")} as "firstAsked",
  ${beginningSql("asc")} as "firstMessage", ${beginningSql("desc")} as "lastMessage"`;

const LIST = `
select ${LISTED} from conversations
where tenant_id = $1 and user_id = $2
  and ${isBeforeCursor(3)} and ($6::boolean is null or pinned = $6) and ($7::boolean is null or archived = $7)
  and ($8::text[] = '{}' or lower(coalesce(title, ${beginningSql("asc", "role = 'user'")}, '')) like all ($8))
order by created_at desc, id desc limit $5`;

const IN_SCOPE = "tenant_id = $2 and ($3::text is null or user_id = $3)";
const OF_SCOPE = `from conversations where id = $1 and ${IN_SCOPE}`;

/** SQL: the conversation of an id ($1), else the oldest of a session ($4), in a scope ($2 and $3). */
export const namedSql = (columns: string): string => `
with of_id as materialized (select ${columns} ${OF_SCOPE})
select * from of_id
union all (select ${columns} from conversations where session_id = $4 and ${IN_SCOPE} and not exists (select from of_id) order by created_at limit 1)`;

const RENAME = "update conversations set session_id = $4, metadata = $5 where id = $1 and tenant_id = $2 and user_id = $3";

const OF_SESSION = "select id from conversations where tenant_id = $1 and user_id = $2 and session_id = $3";

const CREATE = `
with ${shareOwner(4)}
insert into conversations (id, tenant_id, user_id, session_id, message_count, metadata, last_message_at, created_at, updated_at)
select $1, $2, $3, $5, 0, $6, clock_timestamp(), clock_timestamp(), clock_timestamp() from guard
on conflict do nothing
returning id`;

/** A change counts as activity: an unpinned conversation is not expired at once. */
const CHANGE = `
update conversations
set title = case when $4::jsonb ? 'title' then $4::jsonb->>'title' else title end,
  title_by = case when not $4::jsonb ? 'title' then title_by when $4::jsonb->>'title' is not null then 'person' end,
  pinned = coalesce(($4::jsonb->>'pinned')::boolean, pinned), archived = coalesce(($4::jsonb->>'archived')::boolean, archived),
  metadata = coalesce($4::jsonb->'metadata', metadata), updated_at = clock_timestamp()
where id = $1 and tenant_id = $2 and user_id = $3
returning ${LISTED}`;

/** The conversations of a database. */
export function makeConversationStore(database: Database): ConversationStore {
  async function one<Row>(name: string, text: string, values: (string | null)[]): Promise<Row | null> {
    return (await database.query<Row>({ name, text, values }))[0] ?? null;
  }
  const findNamed: ConversationStore["findNamed"] = ({ tenantId, userId }, { id, sessionId }) =>
    one("conversation-find", namedSql(CONVERSATION), [id, tenantId, userId, sessionId]);
  return {
    async create(owner, { id, sessionId, metadata }) {
      const values = [...ownedValues({ ...owner, conversationId: id }), ownerLock(owner), sessionId, storableJson(metadata)];
      return (await database.query({ name: "conversation-create", text: CREATE, values })).length === 1;
    },
    find: (scope, id) => findNamed(scope, { id, sessionId: sessionOfChosen(id) }),
    findNamed,
    async rename(conversation, { sessionId, metadata }) {
      await one("conversation-rename", RENAME, [...ownedValues(conversation), sessionId, storableJson(metadata)]);
    },
    async findOfSession({ tenantId, userId, sessionId }) {
      return (await one<{ id: string }>("conversation-of-session", OF_SESSION, [tenantId, userId, sessionId]))?.id ?? null;
    },
    show: ({ tenantId, userId }, id) => one("conversation-show", `select ${LISTED} ${OF_SCOPE}`, [id, tenantId, userId]),
    change: (conversation, changes) => one("conversation-change", CHANGE, [...ownedValues(conversation), JSON.stringify(changes)]),

    async list({ tenantId, userId }, page, { pinned, archived, words = [] } = { pinned: null, archived: null }) {
      const patterns = words.map((word) => `%${word.toLowerCase().replace(/[\\%_]/g, "\\$&")}%`);
      const values = [tenantId, userId, ...pageValues(page), pinned, archived, patterns];
      return toPage(await database.query<ListedConversation>({ name: "conversation-list", text: LIST, values }), page.limit);
    },
  };
}
