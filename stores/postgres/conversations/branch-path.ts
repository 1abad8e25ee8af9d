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

/** SQL: how many messages the path of a row of `conversations` has. */
export const PATH_MESSAGES = `case when conversations.path is null then conversations.message_count else coalesce(conversations.path_message_count, (
  select count(*)::int from messages where messages.conversation_id = conversations.id and ${onPathSql("messages", "conversations.path")})) end`;

/** SQL: the branch of the path that a message of this place belongs to; null: the first, or there are no branches. */
export const branchAtSql = (conversationId: string, createdAt: string, id: string): string => `(
  select nullif(step.key::uuid, ${conversationId}::uuid) from jsonb_each(${pathOf(`${conversationId}::uuid`)}) step
  where (${createdAt}, ${id}) <= ((step.value->>0)::timestamptz, (step.value->>1)::uuid)
  order by (step.value->>0)::timestamptz, (step.value->>1)::uuid limit 1)`;
