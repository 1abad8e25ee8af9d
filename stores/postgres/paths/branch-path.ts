/** The most branches of one path: docs/decisions/0077. */
export const MAX_BRANCHES = 64;

/**
 * SQL: whether a message lies on a path, a value of `conversations.path`. Every statement that reads a conversation's messages has this
 * condition.
 */
export function onPathSql(messages: string, path: string): string {
  const last = `${path}->coalesce(${messages}.branch_id, ${messages}.conversation_id)::text`;
  return `(${path} is null or coalesce((${messages}.created_at, ${messages}.id) <= ((${last}->>0)::timestamptz, (${last}->>1)::uuid), false))`;
}

/** SQL: the path of a conversation by its id, for a statement that does not read `conversations`. */
export const pathOf = (conversationId: string): string => `(select path from conversations where conversations.id = ${conversationId})`;

const sharedSql = (path: string): string => `(
  select distinct (step.value->>2)::uuid as id from jsonb_each(${path}) step where step.value->>2 is not null)`;

/**
 * SQL: the conversations whose messages a path has: its own, and those that a fork shares (docs/decisions/0077). `conversationId` is the
 * owner's, or null.
 */
export const sourcesSql = (conversationId: string, path: string): string => `(
  select ${conversationId}::uuid as id union all select id from ${sharedSql(path)} shared where ${conversationId} is not null)`;

/** SQL: how many messages a path has. */
export const countOfPathSql = (conversationId: string, path: string): string => `(
  select count(*)::int from messages
  where messages.conversation_id in (select id from ${sourcesSql(conversationId, path)} source) and ${onPathSql("messages", path)})`;

/** SQL: a limit of unknown size. A known one makes the planner plan each call anew, which takes longer than the reading. */
export const unknownLimit = (parameter: string): string => `(select ${parameter}::int)`;

interface MessagesOfPath {
  /** Must include `id` and `"createdAt"`, the order of the rows. */
  columns: string;
  from?: string;
  conversationId: string;
  path: string;
  where?: string;
  order: "asc" | "desc";
  limit: string;
}

/**
 * SQL: the first messages of a path, from either end. It reads at most `limit` messages on the path of each conversation, by index and in
 * order where there is no fork.
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

/** SQL: whether a message lies on its conversation's path, or on that of a fork. */
export const onAnyPathSql = (messages: string, path: string): string => `(${onPathSql(messages, path)} or exists (
  select from forks join conversations fork on fork.id = forks.conversation_id
  where source_ids @> array[${messages}.conversation_id] and ${onPathSql(messages, "fork.path")}))`;

/** SQL: the conversation's own branch that a message at this place belongs to; null: the first, or there are no branches. */
export const branchAtSql = (conversationId: string, createdAt: string, id: string): string => `(
  select nullif(step.key::uuid, ${conversationId}::uuid) from jsonb_each(${pathOf(`${conversationId}::uuid`)}) step
  where step.value->>2 is null and (${createdAt}, ${id}) <= ((step.value->>0)::timestamptz, (step.value->>1)::uuid)
  order by (step.value->>0)::timestamptz, (step.value->>1)::uuid limit 1)`;
