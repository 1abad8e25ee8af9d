/** Branches of one path: the contract of branches, docs/decisions/0077. */
export const MAX_BRANCHES = 64;

/**
 * SQL: a message of this table or alias lies on a path; `path` is a value of `conversations.path`. The only condition there is for it: every
 * statement that reads the messages of a conversation has it.
 */
export function onPathSql(messages: string, path: string): string {
  const last = `${path}->coalesce(${messages}.branch_id, ${messages}.conversation_id)::text`;
  return `(${path} is null or coalesce((${messages}.created_at, ${messages}.id) <= ((${last}->>0)::timestamptz, (${last}->>1)::uuid), false))`;
}

/** SQL: the path of a conversation by its id, for a statement that does not read `conversations` itself. */
export const pathOf = (conversationId: string): string => `(select path from conversations where conversations.id = ${conversationId})`;

const sharedSql = (path: string): string => `(
  select distinct (step.value->>2)::uuid as id from jsonb_each(${path}) step where step.value->>2 is not null)`;

/**
 * SQL: a table of the conversations whose messages a path has: its own, and those that a fork shares (docs/decisions/0077). `conversationId` is
 * one of the owner, or null.
 */
export const sourcesSql = (conversationId: string, path: string): string => `(
  select ${conversationId}::uuid as id union all select id from ${sharedSql(path)} shared where ${conversationId} is not null)`;

/** SQL: how many messages a path has. */
export const countOfPathSql = (conversationId: string, path: string): string => `(
  select count(*)::int from messages
  where messages.conversation_id in (select id from ${sourcesSql(conversationId, path)} source) and ${onPathSql("messages", path)})`;

/**
 * SQL: a limit that the planner knows no figure of. With one it finds a plan for these very values cheaper each time, and plans anew with each
 * call, which takes longer than the reading.
 */
export const unknownLimit = (parameter: string): string => `(select ${parameter}::int)`;

interface MessagesOfPath {
  /** Among them `id` and `"createdAt"`, by which the rows are in order. */
  columns: string;
  from?: string;
  conversationId: string;
  path: string;
  where?: string;
  order: "asc" | "desc";
  limit: string;
}

/**
 * SQL: the first messages of a path, from whichever end. Of each conversation it reads no more than `limit` that lie on the path. Of one that is
 * no fork the rows come by the index in order, and nothing else is looked at.
 */
export function messagesOfPathSql({
  columns,
  from = "messages",
  conversationId,
  path,
  where = "true",
  order,
  limit,
}: MessagesOfPath): string {
  const ofConversation = (id: string): string => `
    select ${columns} from ${from}
    where messages.conversation_id = ${id} and ${where} and ${onPathSql("messages", path)}
    order by created_at ${order}, messages.id ${order} limit ${limit}`;
  const inOrder = `order by said."createdAt" ${order}, said.id ${order} limit ${limit}`;
  return `
  select said.* from (
    (${ofConversation(conversationId)})
    union all
    select shared.* from (
      select said.* from ${sharedSql(path)} source cross join lateral (${ofConversation("source.id")}) said ${inOrder}
    ) shared where ${path} @? '$.*[2]' and ${conversationId} is not null
  ) said ${inOrder}`;
}

/** SQL: how many messages the path of a row of `conversations` has. */
export const PATH_MESSAGES = `case when conversations.path is null then conversations.message_count
  else coalesce(conversations.path_message_count, ${countOfPathSql("conversations.id", "conversations.path")}) end`;

/** SQL: a message lies on the path of its conversation, which is `path`, or on that of one which was forked from it. */
export const onAnyPathSql = (messages: string, path: string): string => `(${onPathSql(messages, path)} or exists (
  select from forks join conversations fork on fork.id = forks.conversation_id
  where source_ids @> array[${messages}.conversation_id] and ${onPathSql(messages, "fork.path")}))`;

/** SQL: the branch of a conversation's own, on its path, that a message of this place belongs to; null: the first, or there are no branches. */
export const branchAtSql = (conversationId: string, createdAt: string, id: string): string => `(
  select nullif(step.key::uuid, ${conversationId}::uuid) from jsonb_each(${pathOf(`${conversationId}::uuid`)}) step
  where step.value->>2 is null and (${createdAt}, ${id}) <= ((step.value->>0)::timestamptz, (step.value->>1)::uuid)
  order by (step.value->>0)::timestamptz, (step.value->>1)::uuid limit 1)`;
